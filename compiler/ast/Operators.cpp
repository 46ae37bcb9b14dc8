// The table of operators: see Operators.h.

#include "compiler/ast/Operators.h"

#include <cassert>

namespace recipec::ast {

std::string_view spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
    return "+";
  case BinaryOp::subtract:
    return "-";
  case BinaryOp::multiply:
    return "*";
  case BinaryOp::divide:
    return "/";
  case BinaryOp::remainder:
    return "%";
  case BinaryOp::equal:
    return "==";
  case BinaryOp::notEqual:
    return "!=";
  case BinaryOp::less:
    return "<";
  case BinaryOp::lessEqual:
    return "<=";
  case BinaryOp::greater:
    return ">";
  case BinaryOp::greaterEqual:
    return ">=";
  case BinaryOp::logicalAnd:
    return "and";
  case BinaryOp::logicalOr:
    return "or";
  case BinaryOp::range:
    return "..";
  case BinaryOp::maps:
    return "->";
  case BinaryOp::in:
    return "in";
  }
  assert(false && "not an operator");
  return {};
}

std::string_view spelling(UnaryOp op) {
  return op == UnaryOp::negate ? "-" : "not";
}

std::string_view spelling(KeywordLiteral::Which which) {
  switch (which) {
  case KeywordLiteral::Which::none:
    return "none";
  case KeywordLiteral::Which::automatic:
    return "auto";
  case KeywordLiteral::Which::trueValue:
    return "true";
  case KeywordLiteral::Which::falseValue:
    return "false";
  }
  assert(false && "not a keyword");
  return {};
}

int strength(BinaryOp op) {
  switch (op) {
  case BinaryOp::logicalOr:
    return 1;
  case BinaryOp::logicalAnd:
    return 2;
  case BinaryOp::equal:
  case BinaryOp::notEqual:
  case BinaryOp::less:
  case BinaryOp::lessEqual:
  case BinaryOp::greater:
  case BinaryOp::greaterEqual:
  case BinaryOp::in:
    return comparisonStrength;
  case BinaryOp::maps:
    return 5;
  case BinaryOp::range:
    return 6;
  case BinaryOp::add:
  case BinaryOp::subtract:
    return 7;
  case BinaryOp::multiply:
  case BinaryOp::divide:
  case BinaryOp::remainder:
    return 8;
  }
  assert(false && "not an operator");
  return 0;
}

int strength(UnaryOp op) {
  return op == UnaryOp::logicalNot ? 3 : suffixStrength - 1;
}

bool chains(BinaryOp op) {
  return op != BinaryOp::maps && op != BinaryOp::range &&
         strength(op) != comparisonStrength;
}

} // namespace recipec::ast
