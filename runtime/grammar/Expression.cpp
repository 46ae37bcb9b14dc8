// Makes expressions.

#include "runtime/grammar/Expression.h"

namespace reciperun::grammar {
namespace {

template <class Node> ExpressionPtr make(Node node) {
  return std::make_shared<const Expression>(Expression{std::move(node)});
}

} // namespace

RuleId Rules::add(std::string name) {
  rules.push_back({std::move(name), nullptr, {}});
  return static_cast<RuleId>(rules.size()) - 1;
}

ExpressionPtr literal(std::string bytes) {
  return make(Literal{std::move(bytes)});
}

ExpressionPtr character(CodePointSet set) {
  return make(Character{std::move(set)});
}

ExpressionPtr characterIn(std::string_view bounds) {
  std::vector<CodePointRange> ranges;
  for (size_t i = 0; i + 1 < bounds.size(); i += 2)
    ranges.push_back(
        {static_cast<uint8_t>(bounds[i]), static_cast<uint8_t>(bounds[i + 1])});
  return character(CodePointSet(std::move(ranges)));
}

ExpressionPtr sequence(std::vector<ExpressionPtr> parts) {
  if (parts.size() == 1)
    return parts.front();
  return make(Sequence{std::move(parts)});
}

ExpressionPtr choice(std::vector<ExpressionPtr> alternatives) {
  if (alternatives.size() == 1)
    return alternatives.front();
  return make(Choice{std::move(alternatives)});
}

ExpressionPtr repeat(ExpressionPtr part, int64_t least,
                     std::optional<int64_t> most) {
  return make(Repeat{std::move(part), least, most});
}

ExpressionPtr optional(ExpressionPtr part) {
  return repeat(std::move(part), 0, 1);
}

ExpressionPtr reference(RuleId rule) {
  return make(Reference{rule});
}

ExpressionPtr separated(Separated items) {
  return make(std::move(items));
}

ExpressionPtr regular(std::shared_ptr<const Machine> machine) {
  return make(Regular{std::move(machine)});
}

ExpressionPtr nothing() {
  return make(Choice{});
}

} // namespace reciperun::grammar
