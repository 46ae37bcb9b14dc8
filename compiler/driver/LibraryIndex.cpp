// 1. Index the prelude's names, and every declaration of every file by name.
// 2. Index the fields below the schema `recipe` by path. A field whose type
//    names a schema leads to the fields of that schema.

#include "compiler/driver/LibraryIndex.h"

#include "compiler/driver/Documentation.h"
#include "compiler/sema/values/Comments.h"
#include "runtime/search/WordIndex.h"

#include <algorithm>
#include <cctype>

namespace recipec::driver {

namespace search = reciperun::search;

namespace {

constexpr const char* preludePath = "std/prelude.recipe";
const Subject recipeSchema{"std/schema/recipe.recipe", "recipe", ""};

/// The name that a declaration declares; empty for an import.
struct NameOf {
  std::string operator()(const ast::Import&) const { return ""; }
  template <class Node> std::string operator()(const Node& node) const {
    return node.name.text;
  }
};

const ast::Body* schemaBody(const ast::File& file, const std::string& name) {
  for (const ast::Declaration& declaration : file.declarations)
    if (auto* schema = std::get_if<ast::SchemaDecl>(&declaration.node))
      if (schema->name.text == name)
        return &file[schema->body];
  return nullptr;
}

/// The names in backticks on the lines from "Also known as" on.
std::vector<std::string> namesElsewhere(const ast::Comments& comments) {
  std::vector<std::string> names;
  bool isList = false;
  for (const std::string& line : docLines(comments)) {
    isList |= line.starts_with("Also known as");
    size_t begin = isList ? line.find('`') : std::string::npos;
    while (begin != std::string::npos) {
      size_t end = line.find('`', begin + 1);
      if (end == std::string::npos)
        break;
      names.push_back(line.substr(begin + 1, end - begin - 1));
      begin = line.find('`', end + 1);
    }
  }
  return names;
}

void addOnce(std::vector<Subject>& found, const Subject& subject) {
  if (std::find(found.begin(), found.end(), subject) == found.end())
    found.push_back(subject);
}

} // namespace

LibraryIndex::LibraryIndex(FileLoader& loader) : loader(loader) {
  addPrelude();
  for (const std::string& path : loader.standardFiles())
    addDeclarations(path);
  addFields("", recipeSchema);
}

const ast::File* LibraryIndex::fileOf(const std::string& path) const {
  return loader.load(path).file;
}

/// The file that `std.schema.batch` imports; empty if there is none.
std::string LibraryIndex::importedFile(std::string_view dotted) const {
  std::string path(dotted);
  std::replace(path.begin(), path.end(), '.', '/');
  std::string last = path.substr(path.rfind('/') + 1);
  for (const std::string& file : loader.standardFiles())
    if (file == path + ".recipe" || file == path + "/" + last + ".recipe")
      return file;
  return "";
}

void LibraryIndex::addPrelude() {
  const ast::File* file = fileOf(preludePath);
  if (!file)
    return;
  for (const ast::Declaration& declaration : file->declarations) {
    auto* import = std::get_if<ast::Import>(&declaration.node);
    if (!import || !import->selection)
      continue;
    std::string dotted;
    for (const ast::Name& part : import->path)
      dotted += (dotted.empty() ? "" : ".") + part.text;
    std::string path = importedFile(dotted);
    for (const ast::Selected& each : *import->selection)
      prelude[each.alias ? each.alias->text : each.name.text] = {
          path, each.name.text, ""};
  }
}

void LibraryIndex::addDeclarations(const std::string& path) {
  const ast::File* file = fileOf(path);
  if (!file)
    return;
  for (const ast::Declaration& declaration : file->declarations)
    if (std::string name = std::visit(NameOf{}, declaration.node);
        !name.empty())
      declarations.emplace(name, Subject{path, name, ""});
}

void LibraryIndex::addFields(const std::string& prefix, const Subject& schema) {
  constexpr size_t deepest = 4; // limit on the names of a path
  const ast::File* file = fileOf(schema.path);
  const ast::Body* body = file ? schemaBody(*file, schema.name) : nullptr;
  bool isTooDeep =
      size_t(std::count(prefix.begin(), prefix.end(), '.')) >= deepest;
  if (!body || isTooDeep)
    return;
  for (const ast::Item& item : body->items) {
    auto* field = std::get_if<ast::FieldDecl>(&item.node);
    if (!field)
      continue;
    std::string path = prefix + field->name.text;
    Subject subject{schema.path, schema.name, field->name.text};
    fields.emplace_back(path, subject);
    for (const std::string& name : namesElsewhere(item.comments))
      otherNames.emplace(name, subject);
    for (const Subject& inner : schemasOf(*file, field->type))
      addFields(path + ".", inner);
  }
}

/// The schemas that a type names; both for `A | B`.
std::vector<Subject> LibraryIndex::schemasOf(const ast::File& file,
                                             ast::TypeId type) const {
  std::vector<Subject> found;
  const auto& node = file[type].node;
  if (auto* named = std::get_if<ast::NamedType>(&node)) {
    auto [first, last] = declarations.equal_range(named->path.back().text);
    for (auto each = first; each != last; ++each)
      if (const ast::File* declaring = fileOf(each->second.path);
          declaring && schemaBody(*declaring, each->first))
        found.push_back(each->second);
  } else if (auto* members = std::get_if<ast::UnionType>(&node)) {
    for (ast::TypeId member : members->members)
      for (const Subject& subject : schemasOf(file, member))
        addOnce(found, subject);
  }
  return found;
}

std::vector<Subject> LibraryIndex::find(const std::string& name) const {
  std::vector<Subject> found;
  if (auto known = prelude.find(name); known != prelude.end())
    found.push_back(known->second);
  if (name.starts_with("std.")) {
    std::string whole = importedFile(name);
    std::string file = importedFile(name.substr(0, name.rfind('.')));
    if (!whole.empty())
      found.push_back({whole, "", ""});
    else if (!file.empty())
      found.push_back({file, name.substr(name.rfind('.') + 1), ""});
    return found;
  }
  auto [first, last] = declarations.equal_range(name);
  for (auto each = first; each != last; ++each)
    addOnce(found, each->second);
  addFieldsCalled(name, found);
  return found;
}

std::string LibraryIndex::settingOf(const std::string& name) const {
  std::vector<Subject> found;
  addFieldsCalled(name, found);
  for (const auto& [path, subject] : fields)
    if (!found.empty() && subject == found.front())
      return path;
  return {};
}

bool LibraryIndex::takesLists(const std::string& path) const {
  for (const auto& [known, subject] : fields) {
    const ast::Item* item = known == path ? itemOf(subject) : nullptr;
    if (!item)
      continue;
    const ast::File& file = *fileOf(subject.path);
    const auto isList = [&](ast::TypeId type) {
      return std::holds_alternative<ast::ListType>(file[type].node);
    };
    const ast::TypeId type = std::get<ast::FieldDecl>(item->node).type;
    auto* members = std::get_if<ast::UnionType>(&file[type].node);
    return members ? std::ranges::any_of(members->members, isList)
                   : isList(type);
  }
  return true; // an unknown field, such as one of a model
}

/// The text between the first backticks behind `start`; empty if there is none.
static std::string quotedAfter(const std::string& words,
                               std::string_view start) {
  if (!words.starts_with(start))
    return {};
  return words.substr(start.size(),
                      words.find('`', start.size()) - start.size());
}

/// Whether `--set` accepts the text as it is.
static bool isValue(const std::string& text) {
  constexpr std::string_view starts = "0123456789-.[{(\"";
  constexpr std::string_view words[] = {"true", "false", "none", "auto"};
  return starts.find(text.front()) != starts.npos ||
         std::find(std::begin(words), std::end(words), text) != std::end(words);
}

std::string LibraryIndex::valueOf(const ast::Item& field, const ast::File& file,
                                  const std::string& name,
                                  const std::string& value) const {
  const auto& declaration = std::get<ast::FieldDecl>(field.node);
  const std::string_view type = loader.textAt(file[declaration.type].range);
  if (value.empty()) {
    const auto words = sema::listedAs(field.comments, name);
    std::string meant = words ? quotedAfter(*words, "it is `") : "";
    if (meant.empty() && type.find("bool") != type.npos)
      meant = "true";
    return meant.empty() ? "VALUE" : meant;
  }
  for (const std::string& written : {value, "\"" + value + "\""})
    if (auto own = sema::valueListedAs(field.comments, written))
      return *own;
  const bool isName = type.find("string") == type.npos && prelude.count(value);
  return isValue(value) || isName ? value : "\"" + value + "\"";
}

std::optional<Setting>
LibraryIndex::settingFor(const std::string& name,
                         const std::string& value) const {
  std::vector<Subject> found;
  addFieldsCalled(name, found);
  if (found.empty())
    return std::nullopt;
  const Subject& subject = found.front();
  const ast::Item* item = itemOf(subject);
  if (!item)
    return std::nullopt;
  const ast::File& file = *fileOf(subject.path);
  const auto& field = std::get<ast::FieldDecl>(item->node);
  std::string derivation =
      field.isFixed ? std::string(loader.textAt(file[field.defaultValue].range))
                    : "";
  return Setting{settingOf(name), valueOf(*item, file, name, value),
                 std::move(derivation)};
}

/// Adds the fields with this path. If there are none, adds the fields with this
/// last name or with this name in other tools.
void LibraryIndex::addFieldsCalled(const std::string& name,
                                   std::vector<Subject>& found) const {
  for (const auto& [path, subject] : fields)
    if (path == name)
      addOnce(found, subject);
  if (!found.empty())
    return;
  for (const auto& [path, subject] : fields)
    if (path.ends_with("." + name))
      addOnce(found, subject);
  auto [first, last] = otherNames.equal_range(name);
  for (auto each = first; each != last; ++each)
    addOnce(found, each->second);
}

/// The declaration of a field; null if there is none.
const ast::Item* LibraryIndex::itemOf(const Subject& field) const {
  const ast::File* file = fileOf(field.path);
  const ast::Body* body = file ? schemaBody(*file, field.name) : nullptr;
  if (!body)
    return nullptr;
  for (const ast::Item& item : body->items)
    if (auto* declared = std::get_if<ast::FieldDecl>(&item.node);
        declared && declared->name.text == field.field)
      return &item;
  return nullptr;
}

/// Whether a path is that of a section, which has no value itself.
bool LibraryIndex::isSection(const std::string& path) const {
  const bool isTop = path.find('.') == path.npos;
  return isTop && std::ranges::any_of(fields, [&](const Field& each) {
           return each.first.starts_with(path + ".");
         });
}

std::vector<DescribedSetting>
LibraryIndex::nearestSettings(const std::string& name) const {
  std::vector<DescribedSetting> settings;
  std::vector<search::Document> documents;
  for (const auto& [path, subject] : fields) {
    const ast::Item* item = itemOf(subject);
    const bool isKnown = std::ranges::count(settings, path, // of two schemas
                                            &DescribedSetting::path) > 0;
    if (!item || isKnown || isSection(path))
      continue;
    settings.push_back({path, sema::summaryOf(item->comments)});
    documents.push_back(
        {subject.field, namesElsewhere(item->comments),
         sema::descriptionOf(item->comments) + " " + subject.name, ""});
  }
  const search::WordIndex index(std::move(documents));
  std::vector<DescribedSetting> near;
  for (const search::Match& each :
       index.find(name, "", search::leastOfSettings))
    near.push_back(settings[each.document]);
  return near;
}

std::string listed(const std::vector<DescribedSetting>& settings) {
  std::string text = settings.size() == 1
                         ? "the nearest by its description is "
                         : "the nearest by their descriptions are ";
  for (const DescribedSetting& each : settings) {
    text += (&each == &settings.front() ? "`" : "; and `") + each.path + "`";
    if (each.summary.empty())
      continue;
    const size_t at = text.size() + 2;
    text += ": " + each.summary;
    text[at] = char(std::tolower(static_cast<unsigned char>(text[at])));
  }
  return text;
}

std::optional<std::string>
LibraryIndex::suggest(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [each, subject] : prelude)
    names.push_back(each);
  for (const auto& [each, subject] : declarations)
    names.push_back(each);
  for (const auto& [path, subject] : fields) {
    names.push_back(path);
    names.push_back(subject.field);
  }
  for (std::string path : loader.standardFiles()) { // `std.schema.batch`
    path.resize(path.rfind('.'));
    std::replace(path.begin(), path.end(), '/', '.');
    names.push_back(std::move(path));
  }
  return diag::didYouMean(name, names);
}

} // namespace recipec::driver
