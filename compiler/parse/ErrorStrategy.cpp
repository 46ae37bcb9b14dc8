// Recovery from syntax errors: see ErrorStrategy.h.

#include "compiler/parse/ForeignSyntax.h"

#include <algorithm>

namespace recipec::parse {

static size_t ruleOf(const antlr4::RuleContext* context) {
  return context ? context->getRuleIndex() : size_t(-1);
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) {
  throw antlr4::InputMismatchException(parser);
}

void ErrorStrategy::reportError(antlr4::Parser* parser,
                                const antlr4::RecognitionException&) {
  // Every rule that the error unwinds calls this. Only the innermost one
  // reports, because it has the most context.
  if (!isUnwinding)
    report(parser);
  isUnwinding = true;
}

uint32_t ErrorStrategy::lineEnd(uint32_t offset) const {
  std::string_view text = sources.text(list.source);
  return uint32_t(std::min(text.find('\n', offset), text.size()));
}

void ErrorStrategy::report(antlr4::Parser* parser) {
  size_t token = parser->getCurrentToken()->getTokenIndex();
  // At a brace that closes on a later line the error is the end of its line.
  const bool isBehindLine =
      token > 0 && list.tokens[token].type == TokenType::CLOSE &&
      lineEnd(list.tokens[token - 1].end) < list.tokens[token].begin;
  const uint32_t begin =
      isBehindLine ? list.tokens[token - 1].end : list.tokens[token].begin;
  if (begin < reportedUntil || list.isDoubtful(begin) ||
      isBelowBrokenHead(sources, list.source, begin, engine))
    return;
  antlr4::ParserRuleContext* context = parser->getContext();
  // After a missing or superfluous brace the items of a body look like
  // declarations. Their indentation shows that they are not.
  bool isFile = ruleOf(context) == Grammar::RuleDeclarations ||
                ruleOf(context) == Grammar::RuleDeclaration;
  // `model` and `schema` are fields there, and begin declarations of a file.
  size_t first = token;
  while (first > 0 && list.tokens[first - 1].type != TokenType::SEPARATOR)
    --first;
  const bool isOfFile =
      isFile || (list.tokens[token].depth == 0 &&
                 (list.tokens[first].type == TokenType::MODEL ||
                  list.tokens[first].type == TokenType::SCHEMA));
  if (isOfFile && hasReported &&
      (beginsIndentedLine(sources, list, token) ||
       beginsIndentedLine(sources, list, first)))
    return;
  hasReported = true;
  reportedUntil = lineEnd(begin) + 1;
  SyntaxError error;
  error.token = token;
  error.rule = ruleOf(context);
  error.inside = ruleOf(dynamic_cast<antlr4::RuleContext*>(context->parent));
  error.begin = context->getStart()->getTokenIndex();
  for (ssize_t type : parser->getExpectedTokens().toList())
    error.expected.push_back(size_t(type));
  reportSyntaxError(sources, list, error, engine);
}

void ErrorStrategy::recover(antlr4::Parser* parser, std::exception_ptr error) {
  antlr4::ParserRuleContext* context = parser->getContext();
  size_t rule = ruleOf(context);
  if (rule != Grammar::RuleItem && rule != Grammar::RuleDeclaration)
    std::rethrow_exception(error);
  skipItem(parser, list.tokens[context->getStart()->getTokenIndex()].depth);
  isUnwinding = false;
}

void ErrorStrategy::skipItem(antlr4::Parser* parser, int depth) {
  while (true) {
    const Token& token =
        list.tokens[parser->getCurrentToken()->getTokenIndex()];
    bool isEnd = token.depth < depth ||
                 (token.type == TokenType::SEPARATOR && token.depth == depth);
    // A full engine keeps no further diagnostics, so the rest is skipped.
    if (token.type == TokenType::EOF || (isEnd && !engine.isFull()))
      return;
    parser->consume();
  }
}

/// The generated code calls this before each decision of a loop or an option.
void ErrorStrategy::sync(antlr4::Parser* parser) {
  switch (ruleOf(parser->getContext())) {
  case Grammar::RuleItems:
    return syncItems(parser, /*isFile=*/false);
  case Grammar::RuleDeclarations:
    return syncItems(parser, /*isFile=*/true);
  default:
    return;
  }
}

static bool beginsItem(size_t type) {
  switch (type) {
  case TokenType::FIXED:
  case TokenType::REQUIRE:
  case TokenType::LET:
  case TokenType::FUN:
  case TokenType::BLOCK:
  case TokenType::FOR:
  case TokenType::IF:
  case TokenType::RETURN:
  case TokenType::LBRACKET:
    return true;
  default:
    return isName(type);
  }
}

static bool beginsDeclaration(size_t type) {
  switch (type) {
  case TokenType::IMPORT:
  case TokenType::ABSTRACT:
  case TokenType::RECIPE:
  case TokenType::MIXIN:
  case TokenType::SCHEMA:
  case TokenType::MODEL:
  case TokenType::OP:
  case TokenType::LET:
  case TokenType::FUN:
  case TokenType::BLOCK:
    return true;
  default:
    return false;
  }
}

void ErrorStrategy::syncItems(antlr4::Parser* parser, bool isFile) {
  size_t current = parser->getCurrentToken()->getTokenIndex();
  const Token* token = &list.tokens[current];
  size_t close = isFile ? size_t(TokenType::EOF) : size_t(TokenType::CLOSE);
  int depth = isFile ? 0 : token->depth + (token->type == TokenType::CLOSE);
  bool isFirst = current == 0 ||
                 list.tokens[current - 1].type == TokenType::OPEN ||
                 list.tokens[current - 1].type == TokenType::BLOCK_OPEN;
  if (!isFirst) {
    // After an item only its end may follow.
    if (token->type == TokenType::SEPARATOR || token->type == close)
      return;
    // The transformer reports a word behind a number, `7 mod 2`, as a unit.
    const bool isBehindUnit =
        current > 1 && list.tokens[current - 1].type == TokenType::IDENTIFIER &&
        list.tokens[current - 2].type == TokenType::INTEGER &&
        token->type != TokenType::ASSIGN &&
        !isUnitName(sources.text(list.range(current - 1))) &&
        !wordOperatorHelp("", sources.text(list.range(current - 1)), "")
             .empty();
    if (!isBehindUnit)
      report(parser);
    depth =
        list.tokens[parser->getContext()->getStart()->getTokenIndex()].depth;
    skipItem(parser, depth);
    return;
  }
  auto begins = isFile ? beginsDeclaration : beginsItem;
  bool hasReportedItem = false;
  while (token->type != close && !begins(token->type)) {
    if (!std::exchange(hasReportedItem, true))
      report(parser);
    skipItem(parser, depth);
    token = &list.tokens[parser->getCurrentToken()->getTokenIndex()];
    if (token->type != TokenType::SEPARATOR)
      return;
    parser->consume();
    token = &list.tokens[parser->getCurrentToken()->getTokenIndex()];
    hasReportedItem = false;
  }
}

} // namespace recipec::parse
