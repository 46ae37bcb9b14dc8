// What the generated parser does at a token that it did not expect: report it
// in our words, skip to the end of the item, go on. Private to this folder.

#ifndef RECIPEC_PARSE_ERRORSTRATEGY_H
#define RECIPEC_PARSE_ERRORSTRATEGY_H

#include "compiler/parse/ParserRun.h"

namespace recipec::parse {

/// What the parser was about when it met an unexpected token.
struct SyntaxError {
  size_t token;  // index of the unexpected token
  size_t rule;   // innermost rule, `Grammar::RuleItem` ...
  size_t inside; // the rule around it
  size_t begin;  // index of the first token of the innermost rule
  std::vector<size_t> expected; // token types that could have followed
};

/// Words the error: ErrorMessages.cpp.
void reportSyntaxError(const SourceMap& sources, const TokenList& list,
                       SyntaxError error, diag::Engine& engine);

/// Adds help, and the edit that it asks for, where the tokens around an error
/// are those of another language: ForeignSyntax.cpp. False where they are not.
bool helpWithForeignSyntax(const SourceMap& sources, const TokenList& list,
                           const SyntaxError& error, diag::Builder& report);

/// Replaces ANTLR's DefaultErrorStrategy. An error leaves all rules up to the
/// item or declaration around it, which skips to the next separator or closing
/// brace of its own depth. No token is ever guessed. A line has one error: what
/// follows there was read in a state that the first one left.
class ErrorStrategy : public antlr4::ANTLRErrorStrategy {
public:
  ErrorStrategy(const SourceMap& sources, const TokenList& list,
                diag::Engine& engine)
      : sources(sources), list(list), engine(engine) {}

  void reset(antlr4::Parser*) override {}
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void recover(antlr4::Parser* parser, std::exception_ptr error) override;
  void sync(antlr4::Parser* parser) override;
  bool inErrorRecoveryMode(antlr4::Parser*) override { return isUnwinding; }
  void reportMatch(antlr4::Parser*) override {}
  void reportError(antlr4::Parser* parser,
                   const antlr4::RecognitionException& error) override;

private:
  void report(antlr4::Parser* parser);
  /// The offset behind the last character of the line.
  uint32_t lineEnd(uint32_t offset) const;
  /// Skips to a separator, or the closing brace, of the items at `depth`.
  void skipItem(antlr4::Parser* parser, int depth);
  void syncItems(antlr4::Parser* parser, bool isFile);

  const SourceMap& sources;
  const TokenList& list;
  diag::Engine& engine;
  bool hasReported = false;
  uint32_t reportedUntil = 0; // where the line of the last error ends
  bool isUnwinding = false;   // the error was reported; rules are being left
};

} // namespace recipec::parse

#endif // RECIPEC_PARSE_ERRORSTRATEGY_H
