// What the generated parser does at an unexpected token: it reports the token
// in our words, skips to the end of the item, and continues. Private to this
// folder.

#ifndef RECIPEC_PARSE_ERRORSTRATEGY_H
#define RECIPEC_PARSE_ERRORSTRATEGY_H

#include "compiler/parse/ParserRun.h"

namespace recipec::parse {

/// The state of the parser at an unexpected token.
struct SyntaxError {
  size_t token;  // index of the unexpected token
  size_t rule;   // innermost rule, `Grammar::RuleItem` ...
  size_t inside; // the rule around it
  size_t begin;  // index of the first token of the innermost rule
  std::vector<size_t> expected; // token types that could have followed
  /// The report of the error; null when the engine keeps no more.
  diag::Diagnostic* diagnostic = nullptr;
};

/// Reports the error with a message and help: ErrorMessages.cpp.
void reportSyntaxError(const SourceMap& sources, const TokenList& list,
                       SyntaxError error, diag::Engine& engine);

/// The syntax of a rule's construct, for a help; empty for rules without such a
/// form. SyntaxForms.cpp.
std::string formOf(size_t rule);

/// Adds help and a fix-it if the tokens around the error are a form of another
/// language: ForeignSyntax.cpp. Returns false if they are not.
bool helpWithForeignSyntax(const SourceMap& sources, const TokenList& list,
                           const SyntaxError& error, diag::Builder& report);

/// Replaces ANTLR's DefaultErrorStrategy. An error unwinds all rules up to the
/// enclosing item or declaration, which skips to the next separator or closing
/// brace of its own depth. The strategy never inserts a token. It reports one
/// error per line, because the first error may cause the others.
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
  /// The offset after the last character of the line.
  uint32_t lineEnd(uint32_t offset) const;
  /// Skips to the separator or closing brace that ends the item at `depth`.
  void skipItem(antlr4::Parser* parser, int depth);
  void syncItems(antlr4::Parser* parser, bool isFile);

  const SourceMap& sources;
  const TokenList& list;
  diag::Engine& engine;
  bool hasReported = false;
  uint32_t reportedUntil = 0; // the line below the last error
  bool isUnwinding = false;   // the error was reported and rules are unwinding
};

} // namespace recipec::parse

#endif // RECIPEC_PARSE_ERRORSTRATEGY_H
