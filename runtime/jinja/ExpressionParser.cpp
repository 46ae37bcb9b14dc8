// Expressions, by recursive descent with Jinja's precedence: `not` binds looser
// than comparisons, `~` between `+` and `*`, filters tighter than all of them.

#include "runtime/jinja/ExpressionParser.h"

#include <array>
#include <charconv>

namespace reciperun::jinja {
namespace {

using ast::BinaryOp;
using ast::CompareOp;
using ast::ExprPtr;
using Kind = Token::Kind;

/// Deep enough for any template that is written by hand.
constexpr int maxNesting = 200;

} // namespace

Status TokenCursor::failure(const std::string& what) const {
  return Status::error("line " + std::to_string(token().line) + ": " + what);
}

Status TokenCursor::expect(Kind kind, std::string_view text) {
  if (take(kind, text))
    return {};
  const std::string found = token().kind == Kind::end
                                ? "the template ends"
                                : "`" + token().text + "`";
  return failure("`" + std::string(text) + "` is due, and not " + found);
}

Status TokenCursor::takeName(std::string& name) {
  if (token().kind != Kind::name)
    return failure("a name is due, and not `" + token().text + "`");
  name = token().text;
  next();
  return {};
}

Status Nesting::status() const {
  return cursor.depth > maxNesting
             ? cursor.failure("the template nests more than " +
                              std::to_string(maxNesting) + " constructs")
             : Status::ok();
}

template <class Node>
ExprPtr ExpressionParser::make(Node node, int line) const {
  return std::make_unique<ast::Expr>(ast::Expr{line, std::move(node)});
}

Status ExpressionParser::tuple(ExprPtr& result) {
  const int line = cursor.token().line;
  RECIPERUN_TRY(expression(result));
  if (!cursor.token().is(Kind::symbol, ","))
    return {};
  ast::ListExpr list;
  list.elements.push_back(std::move(result));
  while (cursor.take(Kind::symbol, ",")) {
    const Kind next = cursor.token().kind;
    if (next == Kind::blockEnd || next == Kind::outputEnd)
      break;
    RECIPERUN_TRY(expression(list.elements.emplace_back()));
  }
  result = make(std::move(list), line);
  return {};
}

Status ExpressionParser::expression(ExprPtr& result) {
  Nesting nesting(cursor);
  RECIPERUN_TRY(nesting.status());
  RECIPERUN_TRY(unconditional(result));
  while (cursor.token().is(Kind::name, "if")) {
    const int line = cursor.token().line;
    cursor.next();
    ast::Conditional node;
    node.value = std::move(result);
    RECIPERUN_TRY(unconditional(node.condition));
    if (cursor.take(Kind::name, "else"))
      RECIPERUN_TRY(expression(node.otherwise));
    result = make(std::move(node), line);
  }
  return {};
}

Status ExpressionParser::unconditional(ExprPtr& result) {
  RECIPERUN_TRY(conjunction(result));
  while (cursor.token().is(Kind::name, "or")) {
    const int line = cursor.token().line;
    cursor.next();
    ast::Binary node{BinaryOp::disjunction, std::move(result), nullptr};
    RECIPERUN_TRY(conjunction(node.right));
    result = make(std::move(node), line);
  }
  return {};
}

Status ExpressionParser::conjunction(ExprPtr& result) {
  RECIPERUN_TRY(negation(result));
  while (cursor.token().is(Kind::name, "and")) {
    const int line = cursor.token().line;
    cursor.next();
    ast::Binary node{BinaryOp::conjunction, std::move(result), nullptr};
    RECIPERUN_TRY(negation(node.right));
    result = make(std::move(node), line);
  }
  return {};
}

Status ExpressionParser::negation(ExprPtr& result) {
  const int line = cursor.token().line;
  if (!cursor.take(Kind::name, "not"))
    return comparison(result);
  Nesting nesting(cursor);
  RECIPERUN_TRY(nesting.status());
  ast::Unary node{ast::UnaryOp::no, nullptr};
  RECIPERUN_TRY(negation(node.operand));
  result = make(std::move(node), line);
  return {};
}

Status ExpressionParser::comparison(ExprPtr& result) {
  struct Spelling {
    std::string_view text;
    CompareOp op;
  };
  constexpr std::array<Spelling, 6> spellings = {{
      {"==", CompareOp::equal},
      {"!=", CompareOp::unequal},
      {"<=", CompareOp::lessEqual},
      {">=", CompareOp::greaterEqual},
      {"<", CompareOp::less},
      {">", CompareOp::greater},
  }};
  const int line = cursor.token().line;
  RECIPERUN_TRY(sum(result));
  ast::Compare node;
  auto takeOperator = [&]() -> std::optional<CompareOp> {
    for (const Spelling& spelling : spellings)
      if (cursor.take(Kind::symbol, spelling.text))
        return spelling.op;
    if (cursor.take(Kind::name, "in"))
      return CompareOp::in;
    if (cursor.take(Kind::name, "not")) // only `in` can follow an operand
      return CompareOp::notIn;
    return std::nullopt;
  };
  while (std::optional<CompareOp> op = takeOperator()) {
    if (*op == CompareOp::notIn)
      RECIPERUN_TRY(cursor.expect(Kind::name, "in"));
    RECIPERUN_TRY(sum(node.rest.emplace_back(*op, nullptr).second));
  }
  if (node.rest.empty())
    return {};
  node.first = std::move(result);
  result = make(std::move(node), line);
  return {};
}

Status ExpressionParser::sum(ExprPtr& result) {
  RECIPERUN_TRY(concatenation(result));
  while (true) {
    const int line = cursor.token().line;
    const bool isSum = cursor.take(Kind::symbol, "+");
    if (!isSum && !cursor.take(Kind::symbol, "-"))
      return {};
    ast::Binary node{isSum ? BinaryOp::add : BinaryOp::subtract,
                     std::move(result), nullptr};
    RECIPERUN_TRY(concatenation(node.right));
    result = make(std::move(node), line);
  }
}

Status ExpressionParser::concatenation(ExprPtr& result) {
  RECIPERUN_TRY(term(result));
  while (cursor.token().is(Kind::symbol, "~")) {
    const int line = cursor.token().line;
    cursor.next();
    ast::Binary node{BinaryOp::concatenate, std::move(result), nullptr};
    RECIPERUN_TRY(term(node.right));
    result = make(std::move(node), line);
  }
  return {};
}

Status ExpressionParser::term(ExprPtr& result) {
  RECIPERUN_TRY(power(result));
  while (true) {
    const int line = cursor.token().line;
    ast::Binary node;
    if (cursor.take(Kind::symbol, "*"))
      node.op = BinaryOp::multiply;
    else if (cursor.take(Kind::symbol, "/"))
      node.op = BinaryOp::divide;
    else if (cursor.take(Kind::symbol, "//"))
      node.op = BinaryOp::floorDivide;
    else if (cursor.take(Kind::symbol, "%"))
      node.op = BinaryOp::modulo;
    else
      return {};
    node.left = std::move(result);
    RECIPERUN_TRY(power(node.right));
    result = make(std::move(node), line);
  }
}

Status ExpressionParser::power(ExprPtr& result) {
  RECIPERUN_TRY(unary(result, true));
  while (cursor.token().is(Kind::symbol, "**")) {
    const int line = cursor.token().line;
    cursor.next();
    ast::Binary node{BinaryOp::power, std::move(result), nullptr};
    RECIPERUN_TRY(unary(node.right, true));
    result = make(std::move(node), line);
  }
  return {};
}

Status ExpressionParser::unary(ExprPtr& result, bool takesFilters) {
  Nesting nesting(cursor);
  RECIPERUN_TRY(nesting.status());
  const int line = cursor.token().line;
  const bool isMinus = cursor.take(Kind::symbol, "-");
  if (isMinus || cursor.take(Kind::symbol, "+")) {
    ast::Unary node{isMinus ? ast::UnaryOp::minus : ast::UnaryOp::plus,
                    nullptr};
    RECIPERUN_TRY(unary(node.operand, false));
    result = make(std::move(node), line);
  } else {
    RECIPERUN_TRY(primary(result));
    RECIPERUN_TRY(postfix(result));
  }
  return takesFilters ? filters(result) : Status::ok();
}

Status ExpressionParser::primary(ExprPtr& result) {
  const Token token = cursor.token();
  if (token.kind == Kind::symbol && token.text == "{")
    return dictionary(result);
  if (token.kind == Kind::symbol && (token.text == "(" || token.text == "["))
    return bracketed(result);
  cursor.next();
  auto literal = [&](Value value) {
    result = make(ast::Literal{std::move(value)}, token.line);
    return Status::ok();
  };
  if (token.kind == Kind::name) {
    if (token.text == "true" || token.text == "True")
      return literal(true);
    if (token.text == "false" || token.text == "False")
      return literal(false);
    if (token.text == "none" || token.text == "None")
      return literal(None{});
    result = make(ast::Name{token.text}, token.line);
    return {};
  }
  if (token.kind == Kind::string) { // adjacent strings are one
    std::string text = token.text;
    for (; cursor.token().kind == Kind::string; cursor.next())
      text += cursor.token().text;
    return literal(std::move(text));
  }
  if (token.kind == Kind::integer) {
    int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, value).ec != std::errc())
      return cursor.failure("`" + token.text + "` does not fit in 64 bits");
    return literal(value);
  }
  if (token.kind == Kind::real) {
    double value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(),
                    value);
    return literal(value);
  }
  const std::string found =
      token.kind == Kind::end ? "the template's end" : "`" + token.text + "`";
  return cursor.failure("a value is due, and not " + found);
}

/// `(a)`, and lists and tuples: a tuple is a list here.
Status ExpressionParser::bracketed(ExprPtr& result) {
  const int line = cursor.token().line;
  const bool isList = cursor.token().text == "[";
  const std::string_view close = isList ? "]" : ")";
  cursor.next();
  ast::ListExpr list;
  bool hasComma = false;
  while (!cursor.take(Kind::symbol, close)) {
    RECIPERUN_TRY(expression(list.elements.emplace_back()));
    if (cursor.take(Kind::symbol, ",")) {
      hasComma = true;
      continue;
    }
    RECIPERUN_TRY(cursor.expect(Kind::symbol, close));
    break;
  }
  if (!isList && !hasComma && list.elements.size() == 1)
    result = std::move(list.elements.front());
  else
    result = make(std::move(list), line);
  return {};
}

Status ExpressionParser::dictionary(ExprPtr& result) {
  const int line = cursor.token().line;
  cursor.next();
  ast::DictExpr dict;
  while (!cursor.take(Kind::symbol, "}")) {
    if (!dict.entries.empty()) {
      RECIPERUN_TRY(cursor.expect(Kind::symbol, ","));
      if (cursor.take(Kind::symbol, "}"))
        break;
    }
    auto& [key, value] = dict.entries.emplace_back();
    RECIPERUN_TRY(expression(key));
    RECIPERUN_TRY(cursor.expect(Kind::symbol, ":"));
    RECIPERUN_TRY(expression(value));
  }
  result = make(std::move(dict), line);
  return {};
}

Status ExpressionParser::postfix(ExprPtr& result) {
  while (true) {
    const int line = cursor.token().line;
    if (cursor.take(Kind::symbol, ".")) {
      const Token name = cursor.token();
      if (name.kind == Kind::integer) { // `list.0`
        ExprPtr index;
        RECIPERUN_TRY(primary(index));
        result = make(ast::Index{std::move(result), std::move(index)}, line);
        continue;
      }
      ast::Attribute node{std::move(result), {}};
      RECIPERUN_TRY(cursor.takeName(node.name));
      result = make(std::move(node), line);
    } else if (cursor.take(Kind::symbol, "[")) {
      RECIPERUN_TRY(subscript(result));
    } else if (cursor.take(Kind::symbol, "(")) {
      ast::Call node{std::move(result), {}};
      RECIPERUN_TRY(arguments(node.arguments));
      result = make(std::move(node), line);
    } else {
      return {};
    }
  }
}

Status ExpressionParser::subscript(ExprPtr& result) {
  const int line = cursor.token().line;
  ast::Slice slice;
  ExprPtr* const bounds[] = {&slice.first, &slice.last, &slice.step};
  size_t colons = 0;
  while (!cursor.take(Kind::symbol, "]")) {
    if (cursor.take(Kind::symbol, ":")) {
      if (++colons > 2)
        return cursor.failure("a slice has at most two `:`");
      continue;
    }
    if (*bounds[colons])
      return cursor.expect(Kind::symbol, "]");
    RECIPERUN_TRY(expression(*bounds[colons]));
  }
  if (colons == 0 && !slice.first)
    return cursor.failure("the brackets have no index");
  if (colons == 0) {
    result = make(ast::Index{std::move(result), std::move(slice.first)}, line);
    return {};
  }
  slice.base = std::move(result);
  result = make(std::move(slice), line);
  return {};
}

Status ExpressionParser::arguments(ast::CallArguments& result) {
  bool isFirst = true;
  while (!cursor.take(Kind::symbol, ")")) {
    if (!isFirst) {
      RECIPERUN_TRY(cursor.expect(Kind::symbol, ","));
      if (cursor.take(Kind::symbol, ")"))
        break;
    }
    isFirst = false;
    ExprPtr value;
    RECIPERUN_TRY(expression(value));
    const auto* name = std::get_if<ast::Name>(&value->node);
    if (name && cursor.take(Kind::symbol, "=")) {
      auto& named = result.named.emplace_back(name->name, nullptr);
      RECIPERUN_TRY(expression(named.second));
      continue;
    }
    if (!result.named.empty())
      return cursor.failure("an argument without a name follows one with a "
                            "name");
    result.positional.push_back(std::move(value));
  }
  return {};
}

Status ExpressionParser::filters(ExprPtr& result) {
  while (true) {
    const int line = cursor.token().line;
    if (cursor.take(Kind::symbol, "|")) {
      ast::Filter node;
      node.operand = std::move(result);
      RECIPERUN_TRY(cursor.takeName(node.name));
      if (cursor.take(Kind::symbol, "("))
        RECIPERUN_TRY(arguments(node.arguments));
      result = make(std::move(node), line);
    } else if (cursor.take(Kind::name, "is")) {
      RECIPERUN_TRY(test(result));
    } else {
      return {};
    }
  }
}

/// The test behind `is`. Its argument may stand without brackets:
/// `is divisibleby 3`.
Status ExpressionParser::test(ExprPtr& result) {
  const int line = cursor.token().line;
  ast::Test node;
  node.operand = std::move(result);
  node.isNegated = cursor.take(Kind::name, "not");
  RECIPERUN_TRY(cursor.takeName(node.name));
  const Token& next = cursor.token();
  const bool isWord = next.kind == Kind::name;
  bool isOperator = false;
  for (const std::string_view word :
       {"and", "or", "not", "if", "else", "in", "is", "recursive"})
    isOperator |= isWord && next.text == word;
  const bool isValue = (isWord && !isOperator) || next.kind == Kind::string ||
                       next.kind == Kind::integer || next.kind == Kind::real ||
                       next.is(Kind::symbol, "[") || next.is(Kind::symbol, "{");
  if (cursor.take(Kind::symbol, "(")) {
    RECIPERUN_TRY(arguments(node.arguments));
  } else if (isValue) {
    ExprPtr& argument = node.arguments.positional.emplace_back();
    RECIPERUN_TRY(primary(argument));
    RECIPERUN_TRY(postfix(argument));
  }
  result = make(std::move(node), line);
  return {};
}

} // namespace reciperun::jinja
