// What other tools call a field; see OtherNames.h.
//
// The fields of a schema come before those of the records in them, so that the
// nearest is found; schemas hold one another in no circle of more levels than
// are looked through.

#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {
namespace {

constexpr std::string_view beginning = "Also known as ";
/// `optimizer.lr.warmup` is the deepest of a recipe.
constexpr int deepest = 3;

/// The list of names that a comment ends in, on one line.
std::string listOf(const ast::Comments& comments) {
  std::string list;
  bool isInList = false;
  for (const std::string& line : comments.leading) {
    size_t begin = line.find(beginning);
    isInList |= begin != line.npos;
    size_t from = begin == line.npos ? line.find_first_not_of("# ") : begin;
    if (isInList && from != line.npos)
      list += " " + line.substr(from);
  }
  return list;
}

/// Whether a number may be one of two things, as in `steps | float`.
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
                          !takesTwoNumbers(*evaluator.resolve(*schema.layer.env,
                                                              field->type))};
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

std::optional<std::string> listedAs(const ast::Comments& comments,
                                    std::string_view name) {
  std::string list = listOf(comments);
  std::string quoted = "`" + std::string(name) + "`";
  size_t at = list.find(quoted);
  if (at == list.npos)
    return std::nullopt;
  at += quoted.size();
  if (list.compare(at, 2, " (") != 0)
    return std::string();
  size_t end = list.find(')', at);
  return list.substr(at + 2, end - at - 2);
}

std::string summaryOf(const ast::Comments& comments) {
  std::string text;
  for (const std::string& line : comments.leading) {
    size_t from = line.find_first_not_of("# ");
    if (from == line.npos || line.find(beginning) != line.npos)
      break;
    text += (text.empty() ? "" : " ") + line.substr(from);
  }
  size_t end = text.find(". ");
  if (end == text.npos && text.ends_with('.'))
    end = text.size() - 1;
  return text.substr(0, end);
}

std::string summaryOf(const Schema& schema, std::string_view field) {
  for (const ast::Item& item : schema.body->items)
    if (auto* declared = std::get_if<ast::FieldDecl>(&item.node);
        declared && declared->name.text == field)
      return summaryOf(item.comments);
  return {};
}

std::optional<KnownField> fieldKnownAs(Evaluator& evaluator,
                                       const Schema& schema,
                                       std::string_view name) {
  return find(evaluator, schema, name, 1);
}

std::string helpFor(const KnownField& field) {
  return "that is `" + field.path + "` here" +
         (field.isFixed ? ", which is derived: leave it out" : "") +
         (field.values.empty() ? "" : ": " + field.values);
}

} // namespace recipec::sema
