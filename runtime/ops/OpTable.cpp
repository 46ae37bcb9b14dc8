// The op table, generated from the op descriptions.

#include "runtime/ops/OpTable.h"

#include <iterator>

namespace reciperun::ops {
namespace {

#include "runtime/ops/OpTable.inc"

static_assert(std::size(table) == opKinds);

} // namespace

const char* nameOf(AttributeType type) {
  constexpr const char* names[] = {"flag", "integer", "real", "string",
                                   "list of strings"};
  return names[size_t(type)];
}

bool isOf(AttributeType type, const AttributeValue& value) {
  switch (type) {
  case AttributeType::flag:
    return std::holds_alternative<bool>(value);
  case AttributeType::integer:
    return std::holds_alternative<int64_t>(value);
  case AttributeType::real:
    return std::holds_alternative<double>(value) ||
           std::holds_alternative<int64_t>(value);
  case AttributeType::string:
    return std::holds_alternative<std::string>(value);
  case AttributeType::strings:
    return std::holds_alternative<std::vector<std::string>>(value);
  }
  return false;
}

const AttributeInfo* findAttribute(OpKind kind, std::string_view name) {
  for (const AttributeInfo& info : infoOf(kind).attributes)
    if (info.name == name)
      return &info;
  return nullptr;
}

std::span<const OpInfo> opTable() {
  return table;
}

const OpInfo& infoOf(OpKind kind) {
  return table[indexOf(kind)];
}

std::optional<OpKind> findOp(std::string_view name) {
  for (const OpInfo& op : table)
    if (op.name == name)
      return op.kind;
  return std::nullopt;
}

} // namespace reciperun::ops
