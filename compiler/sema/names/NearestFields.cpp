// 1. Make a document for each field of the key's own record, and then of the
//    whole recipe, from its names in other tools and its comment. Fields with
//    the same path, such as `optimizer.lr.min` in several schedules, share a
//    document.
// 2. Add the settings of other tools that have no field.
// 3. Search the documents for the words of the key's name.

#include "compiler/sema/names/NearestFields.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Types.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

/// The deepest field of a recipe is `optimizer.lr.warmup`.
constexpr int deepestSearched = 3;

/// The path for records that are in no section of a recipe, or in several, such
/// as `jsonl`.
constexpr std::string_view ownPlace = "self";

/// A longer summary is cut after its first part.
constexpr size_t longestSummary = 80;

/// Makes the first letter lower-case, except in names such as `AdamW` and `A`.
std::string withinSentence(std::string text) {
  if (text.size() > longestSummary)
    text = text.substr(0, std::min(text.find(": "), text.find("; ")));
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::vector<std::string> otherNamesOf(const ast::Comments& comments) {
  std::vector<std::string> names;
  for (ListedName& each : namesListedIn(comments))
    names.push_back(std::move(each.name));
  return names;
}

} // namespace

/// Whether a field suits the key. Braces need a field that takes records; a
/// plain value needs a field that is not a section.
bool NearestFields::isOffered(const Schema& schema, const Field& field,
                              bool isRecord) {
  const Type& type =
      *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
  if (isRecord)
    return !schemasOf(type).empty();
  return &schema != evaluator.recipes.loadedSchema() ||
         type.kind != Type::Kind::schema;
}

void NearestFields::addField(Draft& draft, const Schema& schema,
                             const Field& field, const std::string& path) {
  const std::string& name = field.declaration->name.text;
  const ast::Comments* comments = commentsOf(schema, name);
  if (!comments || !isOffered(schema, field, draft.isRecord))
    return;
  auto names = otherNamesOf(*comments);
  if (field.declaration->isFixed && names.empty())
    return;
  const std::string whole = path.empty() ? name : path + "." + name;
  const auto same = std::ranges::find(draft.subjects, whole, &Subject::path);
  if (same != draft.subjects.end()) {
    auto& known = draft.documents[size_t(same - draft.subjects.begin())];
    known.otherNames.insert(known.otherNames.end(), names.begin(), names.end());
    return;
  }
  draft.subjects.push_back({whole, field.declaration->isFixed,
                            withinSentence(summaryOf(*comments))});
  draft.documents.push_back(
      {name, std::move(names),
       descriptionOf(*comments) + " " + std::string(schema.name), path});
}

void NearestFields::addFields(Draft& draft, const Schema& schema,
                              const std::string& path, int depth) {
  for (const Field& field : schema.fields)
    addField(draft, schema, field, path);
  if (depth == deepestSearched)
    return;
  for (const Field& field : schema.fields) {
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    const std::string& name = field.declaration->name.text;
    for (const Schema* inner : schemasOf(type))
      addFields(draft, *inner, path.empty() ? name : path + "." + name,
                depth + 1);
  }
}

void NearestFields::addAbsent(Draft& draft, const Schema& schema) {
  for (AbsentSubject& each : absentSubjects(schema.name)) {
    draft.subjects.push_back({"", true, std::string(each.help)});
    draft.documents.push_back({"", std::move(each.names), "", ""});
  }
  for (const ast::Item& item : schema.body->items)
    if (std::holds_alternative<ast::FieldDecl>(item.node))
      for (AbsentNames& each : absentNamesIn(item.comments)) {
        draft.subjects.push_back({"", true, each.reason + ": leave it out"});
        draft.documents.push_back({"", std::move(each.names), "", ""});
      }
}

const NearestFields::Index& NearestFields::indexOf(const Schema& schema,
                                                   bool isRecord) {
  const auto [at, isNew] = indices.try_emplace({&schema, isRecord});
  if (!isNew)
    return at->second;
  const Schema* const recipes = evaluator.recipes.loadedSchema();
  const std::string path = pathOf(schema);
  Draft draft;
  draft.isRecord = isRecord;
  addFields(draft, schema, path,
            schema.isModel ? deepestSearched : deepestSearched - 1);
  // The fields of a recipe do not help with a model's or a user's schema.
  if (recipes && !schema.isModel && evaluator.isLibrary(schema.range)) {
    addFields(draft, *recipes, "", 1);
    addAbsent(draft, schema);
  }
  at->second = {
      path, std::move(draft.subjects),
      std::make_unique<search::WordIndex>(std::move(draft.documents))};
  return at->second;
}

/// The paths of a recipe below `path` whose fields take records of `wanted`.
void NearestFields::addPaths(const Schema& schema, const Schema& wanted,
                             const std::string& path, int depth,
                             std::vector<std::string>& paths) {
  for (const Field& field : schema.fields) {
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    const std::string& name = field.declaration->name.text;
    const std::string whole = path.empty() ? name : path + "." + name;
    for (const Schema* inner : schemasOf(type)) {
      if (inner == &wanted)
        paths.push_back(whole);
      if (depth < deepestSearched)
        addPaths(*inner, wanted, whole, depth + 1, paths);
    }
  }
}

std::string NearestFields::pathOf(const Schema& schema) {
  const Schema* const recipes = evaluator.recipes.loadedSchema();
  if (!recipes || &schema == recipes)
    return {};
  std::vector<std::string> paths;
  addPaths(*recipes, schema, "", 1, paths);
  return paths.size() == 1 ? paths[0] : std::string(ownPlace);
}

std::string NearestFields::textOf(const Subject& subject) const {
  const std::string own = std::string(ownPlace) + ".";
  const std::string path =
      subject.path.substr(subject.path.starts_with(own) ? own.size() : 0);
  return "`" + path + "`" + (subject.isFixed ? ", which is derived" : "") +
         (subject.text.empty() ? "" : ": " + subject.text);
}

bool NearestFields::help(diag::Builder& builder, const Schema& schema,
                         const std::string& name, bool isRecord) {
  const Index& index = indexOf(schema, isRecord);
  auto found = index.words->find(name, index.path, search::leastOfSettings);
  if (found.empty())
    return false;
  const Subject& best = index.subjects[found[0].document];
  if (best.path.empty()) {
    builder.help("that is perhaps similar to `" + found[0].nearest +
                 "` of other tools: " + best.text);
    return true;
  }
  const Subject& next = index.subjects[found.back().document];
  if (found.size() > 1 && !next.path.empty())
    builder.help("the nearest fields by their descriptions are " +
                 textOf(best) + "; and " + textOf(next));
  else
    builder.help("the nearest field by its description is " + textOf(best));
  return true;
}

} // namespace recipec::sema
