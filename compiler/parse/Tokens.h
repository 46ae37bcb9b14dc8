// Tokens between the lexer and the parser. Private to this folder.

#ifndef RECIPEC_PARSE_TOKENS_H
#define RECIPEC_PARSE_TOKENS_H

#include "compiler/base/Source.h"
#include "compiler/diag/Diagnostic.h"
#include "compiler/parse/Parse.h"

#include "RecipeParser.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::parse {

/// The names of token types: `TokenType::COMMA`.
using TokenType = generated::RecipeParser;

struct Token {
  size_t type = 0;
  uint32_t begin = 0; // byte offsets in the source
  uint32_t end = 0;
  int depth = 0; // of open brackets around it; brackets count as outside
  bool isInserted = false; // a closing bracket that the user forgot
  bool isBroken = false;   // a string that does not end
};

/// A comment without its line's end; `#` included.
struct Comment {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The tokens of a text, the last of which is EOF.
struct TokenList {
  SourceId source = SourceId::none;
  std::vector<Token> tokens;
  std::vector<Comment> comments;
  /// Where an error was reported already and others would only follow from it.
  std::vector<SourceRange> doubtful;
  /// Closing brackets outside of all others. Where the parser finds an error,
  /// that may be their cause; reported only where it finds none.
  std::vector<SourceRange> unopened;
  /// What the end of the text is called in messages.
  std::string endName = "the end of the file";

  SourceRange range(size_t token) const {
    return {source, tokens[token].begin, tokens[token].end};
  }
  bool isDoubtful(uint32_t offset) const;
  /// Orders `doubtful` by place and joins what overlaps, as isDoubtful asks
  /// for.
  void arrangeDoubtful();
};

/// What may still be read of a file, in tokens; see maxTokens.
struct TokenBudget {
  size_t left = maxTokens;
  bool isReported = false;
};

/// Splits a text, or the part of one that `range` covers, into tokens. Newlines
/// are tokens; comments are kept aside. Reports what is not UTF-8, strings that
/// do not end and characters outside the language; false if the text cannot be
/// parsed at all, or is more than the budget allows.
bool lex(const SourceMap& sources, SourceRange range, TokenList& list,
         TokenBudget& budget, diag::Engine& engine);

/// Whether the strings of a text are interpolated no deeper than
/// maxInterpolationDepth; else reported. Checked before the lexer, which is
/// recursive in them.
bool checkInterpolations(const SourceMap& sources, SourceRange range,
                         diag::Engine& engine);

/// Rewrites newlines, commas and brackets as grammar/Recipe.g4 expects them:
/// see Layout.cpp. False when the text is nested too deeply to be parsed.
bool layOut(const SourceMap& sources, TokenList& list, diag::Engine& engine);

/// Reports the brackets that close nothing.
void reportUnopened(const SourceMap& sources, const TokenList& list,
                    diag::Engine& engine);

/// How a message names a token of this type: "`=`", "a name", "a string".
std::string describeType(size_t type);
/// How a message names the token that was found: "`foo`", "the end of the
/// line".
std::string describeToken(const SourceMap& sources, const TokenList& list,
                          size_t token);
/// The grammar's name of a token type, for `--emit=tokens`: `IDENTIFIER`.
std::string typeName(size_t type);

/// Whether it is the first of a line that does not begin at the margin.
bool beginsIndentedLine(const SourceMap& sources, const TokenList& list,
                        size_t token);
/// A word of the language that cannot be a name.
bool isReservedWord(size_t type);
/// An identifier, or a word that is a keyword only in declarations.
bool isName(size_t type);
/// Whether an expression may begin with it.
bool beginsExpression(size_t type);
bool isBinaryOperator(size_t type);

/// The units of the language, `B` to `tokens`; sema gives them their meaning.
const std::vector<std::string>& unitNames();
bool isUnitName(std::string_view text);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_TOKENS_H
