// Expressions and types.
//
// The grammar yields an operation as a flat list of operands and operators.
// Precedence climbing (Richards and Whitby-Strevens 1979) builds the tree. From
// weakest to strongest: `or`, `and`, `not`, comparisons and `in`, `->`, `..`,
// `+ -`, `* / %`, unary `-`, suffixes. Comparisons, `->` and `..` do not chain.

#include "compiler/ast/Operators.h"
#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/Transformer.h"

#include <algorithm>
#include <cassert>

namespace recipec::parse {

static ast::BinaryOp binaryOp(size_t type) {
  using Op = ast::BinaryOp;
  switch (type) {
  case TokenType::OR:
    return Op::logicalOr;
  case TokenType::AND:
    return Op::logicalAnd;
  case TokenType::EQUAL:
    return Op::equal;
  case TokenType::NOT_EQUAL:
    return Op::notEqual;
  case TokenType::LESS:
    return Op::less;
  case TokenType::LESS_EQUAL:
    return Op::lessEqual;
  case TokenType::GREATER:
    return Op::greater;
  case TokenType::GREATER_EQUAL:
    return Op::greaterEqual;
  case TokenType::IN:
    return Op::in;
  case TokenType::ARROW:
    return Op::maps;
  case TokenType::RANGE:
    return Op::range;
  case TokenType::PLUS:
    return Op::add;
  case TokenType::MINUS:
    return Op::subtract;
  case TokenType::STAR:
    return Op::multiply;
  case TokenType::SLASH:
    return Op::divide;
  default:
    assert(type == TokenType::PERCENT && "not a binary operator");
    return Op::remainder;
  }
}

/// The parts of an operation and the reading position in them.
struct Transformer::OperandList {
  std::vector<Grammar::OperandContext*> operands; // none after `is`
  std::vector<size_t> operators;                  // token indices
  std::vector<Grammar::TypeTermContext*> types;   // one after each `is`
  size_t nextType = 0;
  size_t next = 0;   // index of the next operand
  size_t prefix = 0; // index of the next prefix operator of that operand

  /// Whether an operator follows the operands read so far. False after the
  /// depth limit made prefixOperation give up the operation.
  bool hasOperator() const { return next > 0 && next - 1 < operators.size(); }
  size_t op() const { return operators[next - 1]; }
};

ast::ExprId Transformer::expression(Grammar::ExpressionContext* context) {
  if (auto* inner = context->conditional())
    return conditional(inner);
  return operation(context->operation());
}

ast::ExprId Transformer::conditional(Grammar::ConditionalContext* context) {
  auto parts = context->expression();
  ast::Conditional node{expression(parts[0]), expression(parts[1]),
                        expression(parts[2])};
  int depth = std::max({depthOf(node.condition), depthOf(node.thenValue),
                        depthOf(node.elseValue)});
  return makeExpr(node, range(context), depth);
}

ast::ExprId Transformer::operation(Grammar::OperationContext* context) {
  OperandList list;
  list.types = context->typeTerm();
  for (auto* child : context->children) {
    if (auto* operand = dynamic_cast<Grammar::OperandContext*>(child)) {
      list.operands.push_back(operand);
    } else if (auto* op =
                   dynamic_cast<Grammar::BinaryOperatorContext*>(child)) {
      list.operators.push_back(firstToken(op));
    } else if (auto* type = dynamic_cast<Grammar::TypeTermContext*>(child)) {
      list.operators.push_back(firstToken(type) - 1);
      list.operands.push_back(nullptr);
    }
  }
  return climb(list, 0);
}

ast::ExprId Transformer::climb(OperandList& list, int weakest) {
  ast::ExprId left = prefixed(list);
  std::optional<size_t> last; // the previous operator if it does not chain
  while (list.hasOperator()) {
    size_t token = list.op();
    if (tokens->tokens[token].type == TokenType::IS) {
      if (ast::comparisonStrength < weakest)
        break;
      left = typeTest(left, list);
      continue;
    }
    ast::BinaryOp op = binaryOp(tokens->tokens[token].type);
    if (ast::strength(op) < weakest)
      break;
    if (last && ast::strength(binaryOp(tokens->tokens[*last].type)) ==
                    ast::strength(op))
      reportChain(*last, token);
    ast::ExprId right = climb(list, ast::strength(op) + 1);
    last = ast::chains(op) ? std::nullopt : std::optional(token);
    SourceRange whole = cover(file[left].range, file[right].range);
    left = makeExpr(ast::Binary{op, left, right, tokens->range(token)}, whole,
                    std::max(depthOf(left), depthOf(right)));
  }
  return left;
}

ast::ExprId Transformer::typeTest(ast::ExprId operand, OperandList& list) {
  ++list.next;
  Grammar::TypeTermContext* type = list.types[list.nextType++];
  SourceRange whole = cover(file[operand].range, range(type));
  return makeExpr(ast::TypeTest{operand, typeTerm(type)}, whole,
                  depthOf(operand));
}

void Transformer::reportChain(size_t first, size_t second) {
  auto text = [&](size_t token) {
    return "`" + std::string(sources.text(tokens->range(token))) + "`";
  };
  ast::BinaryOp op = binaryOp(tokens->tokens[second].type);
  bool isComparison = ast::strength(op) == ast::comparisonStrength;
  // `0..10..2`, a range with a step
  const bool isRange = tokens->tokens[first].type == TokenType::RANGE &&
                       tokens->tokens[second].type == TokenType::RANGE;
  const std::string range = isRange ? steppedRange(first, second) : "";
  if (!range.empty()) {
    engine
        .report(diag::Kind::ChainedOperators, tokens->range(second),
                "a range has two ends, and no step")
        .help("write `" + range + "`");
    return;
  }
  engine
      .report(diag::Kind::ChainedOperators, tokens->range(second),
              text(second) + " cannot follow " + text(first) +
                  " without brackets")
      .help(isComparison ? joinedComparisons(first, second)
                         : "say with `(` and `)` what belongs together");
}

/// `a < b and b < c` of single operands.
std::string Transformer::joinedComparisons(size_t first, size_t second) const {
  const bool arePlain =
      first > 0 && second == first + 2 && second + 1 < tokens->tokens.size();
  if (!arePlain)
    return "join two comparisons with `and`";
  auto text = [&](size_t token) {
    return std::string(sources.text(tokens->range(token)));
  };
  return "join two comparisons with `and`: write `" + text(first - 1) + " " +
         text(first) + " " + text(first + 1) + " and " + text(first + 1) + " " +
         text(second) + " " + text(second + 1) + "`";
}

std::string Transformer::steppedRange(size_t first, size_t second) const {
  auto isOperand = [&](size_t token) {
    const size_t type = tokens->tokens[token].type;
    return isName(type) || type == TokenType::INTEGER;
  };
  const bool arePlain =
      first > 0 && second == first + 2 && second + 1 < tokens->tokens.size() &&
      isOperand(first - 1) && isOperand(first + 1) && isOperand(second + 1);
  if (!arePlain)
    return {};
  auto text = [&](size_t token) {
    return std::string(sources.text(tokens->range(token)));
  };
  return "range(" + text(first - 1) + ", " + text(first + 1) + ", " +
         text(second + 1) + ")";
}

ast::ExprId Transformer::prefixed(OperandList& list) {
  Grammar::OperandContext* context = list.operands[list.next];
  size_t token = firstToken(context) + list.prefix;
  size_t type = tokens->tokens[token].type;
  if (type != TokenType::MINUS && type != TokenType::NOT) {
    ++list.next;
    list.prefix = 0;
    return suffixed(context);
  }
  ++list.prefix;
  ++prefixDepth;
  ast::ExprId result = prefixOperation(list, token);
  --prefixDepth;
  return result;
}

/// The prefix operator at `token` with its operand. Each one recurses once.
ast::ExprId Transformer::prefixOperation(OperandList& list, size_t token) {
  if (prefixDepth > maxExpressionDepth) {
    reportDepth(tokens->range(token));
    list.next = list.operands.size() + 1;
    return makeExpr(ast::KeywordLiteral{}, tokens->range(token), 0);
  }
  bool isNot = tokens->tokens[token].type == TokenType::NOT;
  ast::ExprId operand =
      isNot ? climb(list, ast::comparisonStrength) : prefixed(list);
  auto op = isNot ? ast::UnaryOp::logicalNot : ast::UnaryOp::negate;
  SourceRange whole = cover(tokens->range(token), file[operand].range);
  return makeExpr(ast::Unary{op, operand}, whole, depthOf(operand));
}

void Transformer::reportDepth(SourceRange range) {
  if (std::exchange(reportedDepth, true))
    return;
  engine
      .report(diag::Kind::NestingTooDeep, range,
              "the expression is nested more than " +
                  std::to_string(maxExpressionDepth) + " levels deep")
      .help("give inner parts names with `let`");
}

ast::ExprId Transformer::suffixed(Grammar::OperandContext* context) {
  ast::ExprId result = primary(context->primary());
  for (auto* part : context->suffix())
    result = suffix(result, part);
  return result;
}

ast::ExprId Transformer::suffix(ast::ExprId base,
                                Grammar::SuffixContext* context) {
  SourceRange whole = cover(file[base].range, range(context));
  int depth = depthOf(base);
  if (auto* member = context->name())
    return makeExpr(ast::Member{base, name(member)}, whole, depth);
  if (auto* index = context->expression()) {
    ast::ExprId value = expression(index);
    return makeExpr(ast::Index{base, value}, whole,
                    std::max(depth, depthOf(value)));
  }
  if (auto* amended = context->body()) {
    ast::BodyId values = body(amended, BodyKind::settings);
    return makeExpr(ast::Amend{base, values}, whole,
                    std::max(depth, bodyDepths[size_t(values)]));
  }
  ast::Call call{base, {}};
  for (auto* part : context->argument()) {
    call.arguments.push_back(argument(part));
    depth = std::max(depth, depthOf(call.arguments.back().value));
  }
  return makeExpr(std::move(call), whole, depth);
}

ast::Argument Transformer::argument(Grammar::ArgumentContext* context) {
  auto parts = context->expression();
  if (parts.size() == 1)
    return {std::nullopt, expression(parts[0])};
  // The grammar accepts any expression before `=`, so that one token of
  // lookahead is enough.
  size_t first = firstToken(parts[0]);
  bool isPlainName =
      first == lastToken(parts[0]) && isName(tokens->tokens[first].type);
  if (!isPlainName)
    engine
        .report(diag::Kind::ExpectedName, range(parts[0]),
                "expected the name of an argument before `=`")
        .help("`==` compares");
  SourceRange place = range(parts[0]);
  return {ast::Name{std::string(sources.text(place)), place},
          expression(parts[1])};
}

ast::ExprId Transformer::primary(Grammar::PrimaryContext* context) {
  using Which = ast::KeywordLiteral::Which;
  SourceRange whole = range(context);
  auto keyword = [&](Which which) {
    return makeExpr(ast::KeywordLiteral{which}, whole, 0);
  };
  switch (context->getStart()->getType()) {
  case TokenType::INTEGER:
  case TokenType::FLOAT:
    return number(context);
  case TokenType::PERCENTAGE:
    return percentage(firstToken(context));
  case TokenType::STRING:
  case TokenType::TEXT:
    return string(firstToken(context));
  case TokenType::NONE:
    return keyword(Which::none);
  case TokenType::AUTO:
    return keyword(Which::automatic);
  case TokenType::TRUE:
    return keyword(Which::trueValue);
  case TokenType::FALSE:
    return keyword(Which::falseValue);
  case TokenType::LPAREN: {
    ast::ExprId inner = expression(context->expression());
    file.exprs[size_t(inner)].range = whole;
    return inner;
  }
  case TokenType::LBRACKET:
    return list(context->list());
  case TokenType::OPEN: {
    ast::BodyId values = body(context->body(), BodyKind::settings);
    return makeExpr(ast::RecordExpr{values}, whole, bodyDepths[size_t(values)]);
  }
  default:
    return makeExpr(ast::NameRef{name(context->name())}, whole, 0);
  }
}

ast::ExprId Transformer::list(Grammar::ListContext* context) {
  auto parts = context->expression();
  std::vector<ast::ExprId> values;
  int depth = 0;
  for (auto* part : parts) {
    values.push_back(expression(part));
    depth = std::max(depth, depthOf(values.back()));
  }
  if (context->clause().empty())
    return makeExpr(ast::ListExpr{std::move(values)}, range(context), depth);
  ast::Comprehension node{values[0], {}};
  for (auto* part : context->clause()) {
    node.clauses.push_back(clause(part));
    depth = std::max(depth, depthOf(node.clauses.back().source));
    if (ast::ExprId condition = node.clauses.back().condition;
        condition != ast::ExprId::none)
      depth = std::max(depth, depthOf(condition));
  }
  return makeExpr(std::move(node), range(context), depth);
}

ast::Clause Transformer::clause(Grammar::ClauseContext* context) {
  auto parts = context->expression();
  ast::Clause node{names(context->name()), expression(parts[0]),
                   ast::ExprId::none};
  if (parts.size() > 1)
    node.condition = expression(parts[1]);
  return node;
}

// ---- types

ast::TypeId Transformer::type(Grammar::TypeContext* context) {
  auto terms = context->typeTerm();
  if (terms.size() == 1)
    return typeTerm(terms[0]);
  ast::UnionType node;
  for (auto* term : terms)
    node.members.push_back(typeTerm(term));
  return makeType({range(context), std::move(node)});
}

ast::IntType Transformer::intType(Grammar::TypeTermContext* context) {
  int64_t value = integer(lastToken(context));
  return {context->MINUS() ? -value : value};
}

ast::FunctionType
Transformer::functionType(Grammar::FunctionTypeContext* context) {
  ast::FunctionType node;
  for (auto* part : context->type())
    node.parameters.push_back(type(part));
  node.result = typeTerm(context->typeTerm());
  return node;
}

/// `Dict[str, int]`, `Literal["a", "b"]`
void Transformer::reportTypeArguments(Grammar::TypeTermContext* context) {
  auto builder = engine.report(diag::Kind::ExpectedType, range(context->path()),
                               "only `map` takes types in brackets");
  const std::string own = ownTypeAt(sources, *tokens, firstToken(context));
  if (own.empty())
    builder.help("a map is written `map[string, int]`, a list `[int]`");
  else
    builder.help("write `" + own + "`")
        .fixIt(range(context), own, diag::Applicability::safe);
}

ast::TypeId Transformer::typeTerm(Grammar::TypeTermContext* context) {
  SourceRange whole = range(context);
  switch (context->getStart()->getType()) {
  case TokenType::STRING: {
    size_t token = firstToken(context);
    return makeType(
        {whole, ast::StringType{plainString(token, "a literal type")}});
  }
  case TokenType::MINUS:
  case TokenType::INTEGER:
    return makeType({whole, intType(context)});
  case TokenType::LBRACKET:
    return makeType({whole, ast::ListType{type(context->type())}});
  case TokenType::LPAREN:
    return type(context->type());
  case TokenType::FUN:
    return makeType({whole, functionType(context->functionType())});
  case TokenType::NONE:
  case TokenType::AUTO: {
    ast::Name word{std::string(sources.text(whole)), whole};
    return makeType({whole, ast::NamedType{{word}}});
  }
  default:
    break;
  }
  std::vector<ast::Name> names = path(context->path());
  auto* arguments = context->mapArguments();
  if (!arguments)
    return makeType({whole, ast::NamedType{std::move(names)}});
  bool isMap = names.size() == 1 && names[0].text == "map";
  if (!isMap)
    reportTypeArguments(context);
  auto parts = arguments->type();
  ast::TypeId key = type(parts[0]);
  ast::TypeId value = type(parts[1]);
  return makeType({whole, ast::MapType{key, value}});
}

} // namespace recipec::parse
