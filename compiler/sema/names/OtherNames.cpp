// The names that other tools have for a field; see OtherNames.h.
//
// The fields of a schema are searched before those of the records in them, so
// that the nearest field is found. The search depth is limited, so schemas that
// contain each other cannot loop.

#include "compiler/sema/names/OtherNames.h"

#include "compiler/sema/values/Comments.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// The deepest field of a recipe is `optimizer.lr.warmup`.
constexpr int deepest = 3;

/// Names that mean something else in another record.
constexpr std::string_view genericNames[] = {
    "answer",   "assistant", "base",        "context",   "cooldown", "data",
    "decay",    "dev",       "dim",         "directory", "eval",     "file",
    "files",    "folder",    "frequency",   "expert",    "pipeline", "tensor",
    "input",    "inputs",    "instruction", "interval",  "keep",     "label",
    "length",   "limit",     "load",        "loop",      "mode",     "modules",
    "np",       "offload",   "out",         "output",    "path",     "paths",
    "query",    "question",  "repeat",      "response",  "restore",  "run",
    "save",     "scale",     "scaling",     "schedule",  "seq",      "size",
    "source",   "sources",   "stage",       "step",      "steps",    "target",
    "template", "test",      "to",          "top_k",     "total",    "training",
    "user",     "val",       "validate",
};

bool isGeneric(std::string_view name) {
  return std::find(std::begin(genericNames), std::end(genericNames), name) !=
         std::end(genericNames);
}

/// Whether numbers with and without a unit mean different things, as in a union
/// of `steps` and `float`.
bool takesTwoNumbers(const Type& type) {
  bool hasQuantity = false, hasReal = false;
  for (const Type* member : type.members) {
    hasQuantity |= member->kind == Type::Kind::quantity;
    hasReal |= member->kind == Type::Kind::real;
  }
  return hasQuantity && hasReal;
}

std::optional<KnownField> find(Evaluator& evaluator, const Schema& schema,
                               std::string_view name, int depth) {
  for (const ast::Item& item : schema.body->items)
    if (auto* field = std::get_if<ast::FieldDecl>(&item.node); field) {
      if (auto values = listedAs(item.comments, name))
        return KnownField{field->name.text,
                          field->isFixed,
                          *values,
                          !takesTwoNumbers(*evaluator.types.resolve(
                              *schema.layer.env, field->type)),
                          &schema,
                          field};
      else if (std::string why = whyAbsent(item.comments, name); !why.empty())
        return KnownField{"", true, std::move(why)};
    }
  if (depth == deepest || isGeneric(name))
    return std::nullopt;
  for (const Field& field : schema.fields) {
    const Type* type =
        evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    for (const Schema* inner : schemasOf(*type))
      if (auto known = find(evaluator, *inner, name, depth + 1)) {
        if (!known->path.empty())
          known->path = field.declaration->name.text + "." + known->path;
        return known;
      }
  }
  return std::nullopt;
}

/// Adds the names of other tools for the fields of a schema and of the records
/// in it.
void addNames(Evaluator& evaluator, const Schema& schema, int depth,
              std::vector<std::string>& names) {
  for (const ast::Item& item : schema.body->items)
    if (std::holds_alternative<ast::FieldDecl>(item.node))
      for (ListedName& each : namesListedIn(item.comments))
        if (std::find(names.begin(), names.end(), each.name) == names.end())
          names.push_back(std::move(each.name));
  if (depth == deepest)
    return;
  for (const Field& field : schema.fields)
    for (const Schema* inner : schemasOf(*evaluator.types.resolve(
             *schema.layer.env, field.declaration->type)))
      addNames(evaluator, *inner, depth + 1, names);
}

} // namespace

std::optional<std::string> nearestOtherName(Evaluator& evaluator,
                                            const Schema& schema,
                                            std::string_view name) {
  constexpr size_t leastLetters = 5; // shorter names resemble too many others
  if (name.size() < leastLetters)
    return std::nullopt;
  std::vector<std::string> names;
  addNames(evaluator, schema, 1, names);
  std::optional<std::string> nearest = diag::didYouMean(name, names);
  const bool isMeant = nearest && nearest->size() >= leastLetters &&
                       diag::isSurelyMeant(name, *nearest, {});
  return isMeant ? nearest : std::nullopt;
}

std::optional<KnownField> fieldKnownAs(Evaluator& evaluator,
                                       const Schema& schema,
                                       std::string_view name,
                                       bool isElsewhere) {
  if (isElsewhere && isGeneric(name))
    return std::nullopt;
  if (auto known = find(evaluator, schema, name, 1))
    return known;
  // A field of a record in one of the fields, such as `warmup` of a schedule in
  // `lr`. Sections are excluded.
  for (const Field& field : schema.fields) {
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    for (const Type* member : type.members) {
      const Field* inner = member->kind == Type::Kind::schema && !isElsewhere
                               ? member->schema->find(name)
                               : nullptr;
      if (inner && !inner->declaration->isFixed)
        return KnownField{field.declaration->name.text + "." +
                              inner->declaration->name.text,
                          false,
                          "",
                          true,
                          member->schema,
                          inner->declaration};
    }
  }
  return std::nullopt;
}

bool differsInMeaning(const KnownField& field) {
  return !field.values.empty() && field.values.find('`') == std::string::npos;
}

std::string helpFor(const KnownField& field) {
  if (field.path.empty())
    return field.values + ": leave it out";
  return "that is `" + field.path + "` here" +
         (field.isFixed ? ", which is derived: leave it out" : "") +
         (field.values.empty()
              ? ""
              : (field.isFixed ? ", and " : ": ") + field.values);
}

std::string severalOf(const KnownField& field) {
  const ast::Comments* comments =
      field.owner ? commentsOf(*field.owner, field.declaration->name.text)
                  : nullptr;
  const std::string where = comments ? whereSeveral(*comments) : std::string();
  return where.empty() ? where : "several " + where;
}

diag::Applicability applicabilityOf(const KnownField& field) {
  return field.hasOneMeaning && field.values.empty()
             ? diag::Applicability::safe
             : diag::Applicability::maybe;
}

} // namespace recipec::sema
