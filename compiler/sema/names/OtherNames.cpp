// The names that other tools have for a field; see OtherNames.h.
//
// The fields of a schema are searched before those of the records in them, so
// that the nearest field is found. The search depth is limited, so schemas that
// contain each other cannot loop.

#include "compiler/sema/names/OtherNames.h"

#include "compiler/sema/values/Comments.h"

namespace recipec::sema {
namespace {

/// The deepest field of a recipe is `optimizer.lr.warmup`.
constexpr int deepest = 3;

/// Whether a number may mean two things, as in a union of `steps` and `float`.
bool takesTwoNumbers(const Type& type) {
  bool hasQuantity = false, hasReal = false;
  for (const Type* member : type.members) {
    hasQuantity |= member->kind == Type::Kind::quantity;
    hasReal |= member->kind == Type::Kind::real;
  }
  return hasQuantity && hasReal;
}

/// The schemas of the records that a value of the type may be.
std::vector<const Schema*> schemasOf(const Type& type) {
  if (type.kind == Type::Kind::schema)
    return {type.schema};
  std::vector<const Schema*> schemas;
  for (const Type* member : type.members)
    if (member->kind == Type::Kind::schema)
      schemas.push_back(member->schema);
  return schemas;
}

std::optional<KnownField> find(Evaluator& evaluator, const Schema& schema,
                               std::string_view name, int depth) {
  for (const ast::Item& item : schema.body->items)
    if (auto* field = std::get_if<ast::FieldDecl>(&item.node); field)
      if (auto values = listedAs(item.comments, name))
        return KnownField{field->name.text, field->isFixed, *values,
                          !takesTwoNumbers(*evaluator.types.resolve(
                              *schema.layer.env, field->type))};
      else if (std::string why = whyAbsent(item.comments, name); !why.empty())
        return KnownField{"", true, std::move(why)};
  if (depth == deepest)
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

} // namespace

std::optional<KnownField> fieldKnownAs(Evaluator& evaluator,
                                       const Schema& schema,
                                       std::string_view name) {
  return find(evaluator, schema, name, 1);
}

std::string helpFor(const KnownField& field) {
  if (field.path.empty())
    return field.values + ": leave it out";
  return "that is `" + field.path + "` here" +
         (field.isFixed ? ", which is derived: leave it out" : "") +
         (field.values.empty() ? "" : ": " + field.values);
}

diag::Applicability applicabilityOf(const KnownField& field) {
  return field.hasOneMeaning && field.values.empty()
             ? diag::Applicability::safe
             : diag::Applicability::maybe;
}

} // namespace recipec::sema
