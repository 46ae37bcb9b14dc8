// Finds the fields that wrong paths mean; see MeantPaths.h.
//
// A path is followed through the schemas, beginning at the recipe's. For a name
// that is not a field, the first of these rules that finds one applies:
//
// 1. The name is that of the current schema, as in `optimizer.adamw.lr`: skip
//    it.
// 2. It names a schema or a device: continue in the field that holds its
//    record.
// 3. It is a field of one or more sections: continue in each.
// 4. It is another tool's name for a field.
// 5. It is a misspelt field.
//
// If no rule works, look up the last name alone in all sections.

#include "compiler/sema/names/MeantPaths.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/OtherNames.h"
#include "compiler/sema/names/Sections.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>

namespace recipec::sema {
namespace {

class PathSearch {
public:
  PathSearch(Evaluator& evaluator, const std::vector<std::string>& names)
      : evaluator(evaluator), names(names) {}

  std::vector<std::string> run(const Schema& recipes);

private:
  using Schemas = std::vector<const Schema*>;

  void follow(const Schemas& at, size_t index, const std::string& path);
  bool throughField(const Schema& schema, const std::string& name, size_t index,
                    const std::string& path);
  bool throughPath(const Schema& schema, const std::string& inner, size_t index,
                   const std::string& path);
  std::string deviceField(const Schema& schema, const std::string& name);

  static std::string joined(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }

  Evaluator& evaluator;
  const std::vector<std::string>& names;
  std::vector<std::string> found;
};

/// Follows the field `name` of a schema, and then the names from `index` on.
bool PathSearch::throughField(const Schema& schema, const std::string& name,
                              size_t index, const std::string& path) {
  const Field* field = schema.find(name);
  if (!field)
    return false;
  const Type& type =
      *evaluator.types.resolve(*schema.layer.env, field->declaration->type);
  std::string way = joined(path, name);
  if (type.kind == Type::Kind::model) { // any name may be a field of it
    for (size_t i = index; i < names.size(); ++i)
      way = joined(way, names[i]);
    found.push_back(way);
    return true;
  }
  const size_t before = found.size();
  follow(schemasOf(type), index, way);
  return found.size() > before;
}

/// The same for a path of two or more fields.
bool PathSearch::throughPath(const Schema& schema, const std::string& inner,
                             size_t index, const std::string& path) {
  const size_t dot = inner.find('.');
  if (dot == inner.npos)
    return throughField(schema, inner, index, path);
  const Field* field = schema.find(inner.substr(0, dot));
  if (!field)
    return false;
  const Type& type =
      *evaluator.types.resolve(*schema.layer.env, field->declaration->type);
  for (const Schema* next : schemasOf(type))
    if (throughPath(*next, inner.substr(dot + 1), index,
                    joined(path, inner.substr(0, dot))))
      return true;
  return false;
}

/// The field of a schema that takes a record by this name, such as a device.
std::string PathSearch::deviceField(const Schema& schema,
                                    const std::string& name) {
  for (const Field& field : schema.fields) {
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    if (type.kind != Type::Kind::schema)
      continue;
    const std::vector<std::string> records =
        evaluator.library.recordsOf(*type.schema);
    if (std::find(records.begin(), records.end(), name) != records.end())
      return field.declaration->name.text;
    for (const Field& inner : type.schema->fields) {
      const Type& below = *evaluator.types.resolve(*type.schema->layer.env,
                                                   inner.declaration->type);
      if (below.kind != Type::Kind::schema)
        continue;
      const std::vector<std::string> all =
          evaluator.library.recordsOf(*below.schema);
      if (std::find(all.begin(), all.end(), name) != all.end())
        return field.declaration->name.text + "." +
               inner.declaration->name.text;
    }
  }
  return {};
}

void PathSearch::follow(const Schemas& at, size_t index,
                        const std::string& path) {
  if (index == names.size()) {
    if (!path.empty())
      found.push_back(path);
    return;
  }
  const std::string& name = names[index];
  const bool isLast = index + 1 == names.size();
  for (const Schema* schema : at)
    if (schema->find(name)) {
      throughField(*schema, name, index + 1, path);
      return;
    }
  for (const Schema* schema : at) {
    if (!isLast && isSameName(schema->shownName(), name)) {
      follow({schema}, index + 1, path);
      return;
    }
    if (auto holder =
            isLast ? std::nullopt
                   : fieldOfRecords(evaluator, *schema, name, 1, false)) {
      const size_t before = found.size();
      follow({holder->schema}, index + 1, joined(path, holder->path));
      if (found.size() > before)
        return;
    }
    const std::string device = isLast ? "" : deviceField(*schema, name);
    if (!device.empty() && throughPath(*schema, device, index + 1, path))
      return;
    const size_t before = found.size();
    for (const std::string& section : sectionsWith(evaluator, *schema, name))
      throughPath(*schema, section + "." + name, index + 1, path);
    if (found.size() > before)
      return;
    if (auto known = fieldKnownAs(evaluator, *schema, name);
        known && !known->path.empty() &&
        throughPath(*schema, known->path, index + 1, path))
      return;
    if (const std::string near = nearField(*schema, name);
        !near.empty() && throughField(*schema, near, index + 1, path))
      return;
  }
}

std::vector<std::string> PathSearch::run(const Schema& recipes) {
  follow({&recipes}, 0, "");
  if (found.empty() && names.size() > 1) {
    const std::string& last = names.back();
    for (const std::string& section : sectionsWith(evaluator, recipes, last))
      found.push_back(section + "." + last);
    auto known = found.empty() ? fieldKnownAs(evaluator, recipes, last, true)
                               : std::nullopt;
    if (known && !known->path.empty())
      found.push_back(known->path);
  }
  return std::move(found);
}

} // namespace

std::optional<RecordField> fieldOfRecords(Evaluator& evaluator,
                                          const Schema& schema,
                                          const std::string& name, int depth,
                                          bool areSeen) {
  const auto known = evaluator.library.knownAs(name);
  for (const Field& field : schema.fields) {
    if (field.declaration->isFixed)
      continue;
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    for (const Schema* taken : schemasOf(type)) {
      const std::string own(taken->shownName());
      const bool isSeen = !areSeen || (evaluator.modules.prelude() &&
                                       evaluator.modules.prelude()->find(own));
      if (isSeen && (isSameName(own, name) || (known && known->name == own)))
        return RecordField{field.declaration->name.text, taken};
    }
  }
  if (depth == 0)
    return std::nullopt;
  for (const Field& field : schema.fields) {
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    if (type.kind != Type::Kind::schema)
      continue;
    auto inner =
        fieldOfRecords(evaluator, *type.schema, name, depth - 1, areSeen);
    if (inner) {
      inner->path = field.declaration->name.text + "." + inner->path;
      return inner;
    }
  }
  return std::nullopt;
}

std::vector<std::string> pathsMeant(Evaluator& evaluator,
                                    const std::vector<std::string>& names) {
  const Schema* recipes = evaluator.recipes.loadedSchema();
  return recipes && !names.empty() ? PathSearch(evaluator, names).run(*recipes)
                                   : std::vector<std::string>();
}

std::string nearField(const Schema& schema, std::string_view name) {
  std::vector<std::string> fields;
  for (const Field& field : schema.fields)
    if (!field.declaration->isFixed)
      fields.push_back(field.declaration->name.text);
  return diag::didYouMean(name, fields).value_or("");
}

} // namespace recipec::sema
