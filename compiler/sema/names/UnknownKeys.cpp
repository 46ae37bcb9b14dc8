// Fields that a record does not have, and what was meant: the field of another
// tool's name, a misspelt one, one of a section or of the model.

#include "compiler/sema/names/UnknownKeys.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/OtherNames.h"
#include "compiler/sema/names/Sections.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

/// A shorter beginning of a name says too little.
constexpr size_t leastPrefix = 3;

/// The one name that begins with `prefix`, `optimizer` for `optim`.
std::optional<std::string> onlyWith(const std::vector<std::string>& names,
                                    std::string_view prefix) {
  std::optional<std::string> only;
  for (const std::string& name : names) {
    if (prefix.size() < leastPrefix || !name.starts_with(prefix))
      continue;
    if (only)
      return std::nullopt;
    only = name;
  }
  return only;
}

/// The names of a path, `data.sequence`.
std::vector<std::string_view> partsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
    parts.push_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  parts.push_back(path);
  return parts;
}

/// The assignment to `parts` that a path, with a value or braces behind it,
/// makes; not valid where there is none.
SourceRange assignmentIn(const ast::File& file, std::span<const ast::Name> path,
                         ast::BodyId body, SourceRange range,
                         std::span<const std::string_view> parts) {
  if (path.size() > parts.size())
    return {};
  for (size_t i = 0; i < path.size(); ++i)
    if (path[i].text != parts[i])
      return {};
  parts = parts.subspan(path.size());
  if (parts.empty())
    return body == ast::BodyId::none ? range : SourceRange{};
  if (body == ast::BodyId::none)
    return {};
  for (const ast::Item& item : file[body].items)
    if (auto* inner = std::get_if<ast::Assignment>(&item.node)) {
      const SourceRange found =
          assignmentIn(file, inner->path, inner->body, item.range, parts);
      if (found.isValid())
        return found;
    }
  return {};
}

/// Where the layers of a record set a path; not valid where none does.
SourceRange placeOf(const Object& object, std::string_view path) {
  const std::vector<std::string_view> parts = partsOf(path);
  for (const Layer* layer : object.layers)
    for (const Member& member : layer->members) {
      if (member.given || !layer->env || !layer->env->file)
        continue;
      const SourceRange found = assignmentIn(*layer->env->file, member.path,
                                             member.body, member.range, parts);
      if (found.isValid())
        return found;
    }
  return {};
}

/// The one schema that a value of the type may be.
const Schema* onlySchema(const Type& type) {
  const Schema* only = type.kind == Type::Kind::schema ? type.schema : nullptr;
  for (const Type* member : type.members)
    if (member->kind == Type::Kind::schema)
      only = only ? nullptr : member->schema;
  return only;
}

/// Where the name is what another tool calls a field of the schema, or else of
/// the recipe.
bool helpWithOtherName(Evaluator& evaluator, diag::Builder& builder,
                       const Object& object, const ast::Name& name) {
  const Schema& schema = *object.schema;
  if (std::optional<KnownField> own =
          fieldKnownAs(evaluator, schema, name.text)) {
    const SourceRange set = placeOf(object, own->path);
    if (set.isValid() && !evaluator.isLibrary(set) &&
        set.source == name.range.source) {
      builder.help(
          helpFor(*own) + ", which line " +
          std::to_string(
              evaluator.sources.lineColumn(set.source, set.begin).line) +
          " sets: `" + std::string(evaluator.sources.text(set)) +
          "`; leave this out");
      return true;
    }
    builder.help(helpFor(*own));
    if (!own->isFixed && own->values.empty())
      builder.fixIt(name.range, own->path, applicabilityOf(*own));
    return true;
  }
  if (!evaluator.recipes.loadedSchema() ||
      &schema == evaluator.recipes.loadedSchema())
    return false;
  // A name of our own, `dir` say, is that of its sections.
  if (!sectionsWith(evaluator, *evaluator.recipes.loadedSchema(), name.text)
           .empty())
    return false;
  std::optional<KnownField> other =
      fieldKnownAs(evaluator, *evaluator.recipes.loadedSchema(), name.text);
  if (other)
    builder.help(helpFor(*other));
  return other.has_value();
}

/// `trainer.max_steps` for `train.steps`: the section and its field at once.
bool helpWithOtherPath(Evaluator& evaluator, diag::Builder& builder,
                       const Object& object, const Member& member) {
  if (member.path.size() != 2)
    return false;
  const auto section =
      fieldKnownAs(evaluator, *object.schema, member.path[0].text);
  if (!section || section->path.empty())
    return false;
  const Schema* schema = object.schema;
  for (std::string_view part : partsOf(section->path)) {
    const Field* field = schema ? schema->find(part) : nullptr;
    schema = field ? onlySchema(*evaluator.types.resolve(
                         *schema->layer.env, field->declaration->type))
                   : nullptr;
  }
  if (!schema)
    return false;
  const ast::Name& name = member.path[1];
  KnownField meant{name.text};
  if (!schema->find(name.text)) {
    auto known = fieldKnownAs(evaluator, *schema, name.text);
    if (!known || known->path.empty())
      return false;
    meant = *std::move(known);
  }
  meant.path = section->path + "." + meant.path;
  builder.help(helpFor(meant));
  if (!meant.isFixed && meant.values.empty())
    builder.fixIt(cover(member.path[0].range, name.range), meant.path,
                  applicabilityOf(meant));
  return true;
}

/// `hidden` of the recipe for `model.hidden`: the fields of the model that a
/// layer of the recipe names.
bool helpWithModelField(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const ast::Name& name) {
  if (object.schema != evaluator.recipes.loadedSchema())
    return false;
  for (const Layer* layer : object.layers)
    for (const Member& member : layer->members) {
      const Field* field = object.schema->find(member.path.front().text);
      const bool isModel =
          field && member.path.size() == 1 && !member.given &&
          member.value != ast::ExprId::none &&
          evaluator.types
                  .resolve(*object.schema->layer.env, field->declaration->type)
                  ->kind == Type::Kind::model;
      if (!isModel)
        continue;
      Messages::Muted muted(evaluator.messages);
      const Value model = evaluator.evaluate(member.value, *layer->env);
      Object* const* record = model.get<Object*>();
      const Schema* const* schema = model.get<const Schema*>();
      const Schema* declared = record   ? (*record)->schema
                               : schema ? *schema
                                        : nullptr;
      const Field* meant = declared ? declared->find(name.text) : nullptr;
      if (!meant || meant->declaration->isFixed)
        continue;
      const std::string path = member.path.front().text + "." + name.text;
      builder
          .help("`" + name.text + "` is a field of the model: write `" + path +
                "`")
          .fixIt(name.range, path);
      return true;
    }
  return false;
}

/// Whether a path leads to a field of the recipe. Below the model any name may
/// be a field.
bool isPathOfRecipe(Evaluator& evaluator, std::string_view path) {
  const Schema* schema = evaluator.recipes.loadedSchema();
  for (std::string_view part : partsOf(path)) {
    const Field* field = schema ? schema->find(part) : nullptr;
    if (!field)
      return false;
    const Type& type =
        *evaluator.types.resolve(*schema->layer.env, field->declaration->type);
    if (type.kind == Type::Kind::model)
      return true;
    schema = onlySchema(type);
  }
  return true;
}

/// `--set tp=2` for `parallel.tp=2`, `base.parallel.tp=2`, `parallel_tp=2` or
/// `Parallel.TP=2`: the path that was meant, with the value that was given.
bool helpWithArgument(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Member& member) {
  const SourceRange first = member.path.front().range;
  if (evaluator.sources.kind(first.source) != SourceKind::commandLine ||
      object.schema != evaluator.recipes.loadedSchema() || member.given ||
      member.range.source != first.source)
    return false;
  std::string path, rest;
  for (const ast::Name& name : member.path) {
    path += (path.empty() ? "" : ".") + name.text;
    if (&name != &member.path.front())
      rest += (rest.empty() ? "" : ".") + name.text;
  }
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  std::vector<std::string> candidates = {lower, rest};
  for (size_t at = lower.find('_'); at != lower.npos;
       at = lower.find('_', at + 1)) {
    candidates.push_back(lower);
    candidates.back()[at] = '.';
  }
  for (const std::string& section :
       sectionsWith(evaluator, *object.schema, path))
    candidates.push_back(section + "." + path);
  const SourceRange whole = cover(first, member.path.back().range);
  for (const std::string& meant : candidates) {
    if (meant.empty() || meant == path || !isPathOfRecipe(evaluator, meant))
      continue;
    std::string argument(evaluator.sources.text(member.range));
    argument.replace(0, whole.end - whole.begin, meant);
    const bool isPlain = argument.find_first_of(" \"'{}[]()$") == argument.npos;
    const bool isQuotable = argument.find('\'') == argument.npos;
    builder
        .help("write `--set " +
              (isPlain      ? argument
               : isQuotable ? "'" + argument + "'"
                            : meant + "=...") +
              "`")
        .fixIt(whole, meant);
    return true;
  }
  return false;
}

} // namespace

void reportUnknownKey(Evaluator& evaluator, const Object& object,
                      const Layer& layer, const Member& member) {
  const Schema& schema = *object.schema;
  const ast::Name& name = member.path.front();
  auto builder = evaluator.messages.report(
      layer.isArguments ? diag::Kind::UnknownArgument : diag::Kind::UnknownKey,
      name.range,
      "`" + std::string(schema.name) + "` has no field `" + name.text + "`");
  // Help looks at every field of every section.
  constexpr int mostHelped = 200;
  if (evaluator.messages.errors() > mostHelped)
    return;
  if (helpWithArgument(evaluator, builder, object, member) ||
      helpWithOtherPath(evaluator, builder, object, member) ||
      helpWithOtherName(evaluator, builder, object, name))
    return;
  std::vector<std::string> names;
  for (const Field& field : schema.fields)
    if (!field.declaration->isFixed)
      names.push_back(field.declaration->name.text);
  if (&schema == evaluator.recipes.loadedSchema())
    names.emplace_back(sweepName);
  if (builder.suggest(name.range, name.text, names))
    return;
  if (std::optional<std::string> whole = onlyWith(names, name.text)) {
    builder.help("did you mean `" + *whole + "`?").fixIt(name.range, *whole);
    return;
  }
  // Perhaps it belongs to one of the sections.
  std::vector<std::string> sections =
      sectionsWith(evaluator, schema, name.text);
  if (sections.empty() && evaluator.recipes.loadedSchema() &&
      !layer.isArguments)
    sections =
        sectionsWith(evaluator, *evaluator.recipes.loadedSchema(), name.text);
  if (!sections.empty()) {
    bool isArgument =
        evaluator.sources.kind(name.range.source) == SourceKind::commandLine;
    builder.help("`" + name.text + "` is a field of " + joinSections(sections) +
                 ": write `" +
                 (isArgument
                      ? "--set " + sections.front() + "." + name.text + "=...`"
                      : sections.front() + " { " + name.text + " = ... }`"));
    return;
  }
  if (helpWithModelField(evaluator, builder, object, name))
    return;
  if (names.empty() && layer.isArguments)
    builder.help("it takes no arguments: write `" + std::string(schema.name) +
                 "()`");
  if (names.empty() || names.size() > 16)
    return;
  std::string list;
  for (const std::string& field : names)
    list += (list.empty() ? "`" : ", `") + field + "`";
  builder.help("its fields are " + list);
}

} // namespace recipec::sema
