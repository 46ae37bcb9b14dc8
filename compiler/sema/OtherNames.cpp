// What other tools call a field; see OtherNames.h.
//
// The fields of a schema come before those of the records in them, so that the
// nearest is found; schemas hold one another in no circle of more levels than
// are looked through.

#include "compiler/sema/OtherNames.h"

namespace recipec::sema {
namespace {

constexpr std::string_view beginning = "Also known as ";
/// `optimizer.lr.warmup` is the deepest of a recipe.
constexpr int deepest = 3;

/// Whether a comment's list of names has this one. The list may go on over
/// several lines, to the end of the comment.
bool listsName(const ast::Comments& comments, std::string_view name) {
  std::string quoted = "`" + std::string(name) + "`";
  bool isInList = false;
  for (const std::string& line : comments.leading) {
    size_t begin = line.find(beginning);
    isInList |= begin != line.npos;
    size_t from = begin == line.npos ? 0 : begin;
    if (isInList && line.find(quoted, from) != line.npos)
      return true;
  }
  return false;
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
    if (auto* field = std::get_if<ast::FieldDecl>(&item.node);
        field && listsName(item.comments, name))
      return KnownField{field->name.text, field->isFixed};
  if (depth == deepest)
    return std::nullopt;
  for (const Field& field : schema.fields) {
    const Type* type =
        evaluator.resolve(*schema.layer.env, field.declaration->type);
    for (const Schema* inner : schemasOf(*type))
      if (auto known = find(evaluator, *inner, name, depth + 1)) {
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
  return "that is `" + field.path + "` here" +
         (field.isFixed ? ", which is derived" : "");
}

} // namespace recipec::sema
