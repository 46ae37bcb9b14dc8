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
  int depth = 0; // of open brackets around it; a bracket is outside itself
  bool isInserted = false; // a closing bracket that the user forgot
  bool isBroken = false;   // an unclosed string
};

/// A comment without its line break, with its `#`.
struct Comment {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The tokens of a text; the last one is EOF.
struct TokenList {
  SourceId source = SourceId::none;
  std::vector<Token> tokens;
  std::vector<Comment> comments;
  /// Ranges with a reported error. Further errors in them would only be
  /// consequences.
  std::vector<SourceRange> doubtful;
  /// Closing brackets without an opening one, outside of all other brackets.
  /// They may cause an error of the parser, so they are reported only if the
  /// parser finds none.
  std::vector<SourceRange> unopened;
  /// How messages name the end of the text.
  std::string endName = "the end of the file";

  SourceRange range(size_t token) const {
    return {source, tokens[token].begin, tokens[token].end};
  }
  bool isDoubtful(uint32_t offset) const;
  /// Sorts `doubtful` by offset and merges overlapping ranges. isDoubtful
  /// relies on it.
  void arrangeDoubtful();
};

/// The remaining number of tokens of a file; see maxTokens.
struct TokenBudget {
  size_t left = maxTokens;
  bool isReported = false;
};

/// Splits the part of a source that `range` covers into tokens. Newlines are
/// tokens; comments go to a separate list. Reports invalid UTF-8, unclosed
/// strings and characters outside the language. Returns false if the text
/// cannot be parsed at all or exceeds the budget.
bool lex(const SourceMap& sources, SourceRange range, TokenList& list,
         TokenBudget& budget, diag::Engine& engine);

/// Checks that the strings of a text are interpolated no deeper than
/// maxInterpolationDepth, and reports an error if they are. Runs before the
/// lexer, which recurses into interpolations.
bool checkInterpolations(const SourceMap& sources, SourceRange range,
                         diag::Engine& engine);

/// Rewrites items in the notation of YAML and JSON to ours, and reports them as
/// one error: see ForeignNotation.cpp. Runs between the lexer and the layout.
void rewriteForeignNotation(const SourceMap& sources, TokenList& list,
                            diag::Engine& engine);

/// Rewrites newlines, commas and brackets as grammar/Recipe.g4 expects them:
/// see Layout.cpp. Returns false if the text is nested too deeply to be parsed.
bool layOut(const SourceMap& sources, TokenList& list, diag::Engine& engine);

/// Reports the closing brackets without an opening one.
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

/// Whether the token is the first on its line and the line is indented.
bool beginsIndentedLine(const SourceMap& sources, const TokenList& list,
                        size_t token);
/// Whether a line belongs to the cases of a `match`, or to a Python-style body:
/// it is below a line that ends in `:` and has a reported error.
bool isBelowBrokenHead(const SourceMap& sources, SourceId source,
                       uint32_t offset, const diag::Engine& engine);
/// Whether the token is a keyword that cannot be a name.
bool isReservedWord(size_t type);
/// Whether the token is an identifier, or a keyword only in declarations.
bool isName(size_t type);
/// Whether an expression may begin with this token.
bool beginsExpression(size_t type);
bool isBinaryOperator(size_t type);

/// Whether a word begins a choice among values in other languages: `match`.
bool isChoiceWord(std::string_view word);

/// The units of the language, `B` to `tokens`; sema gives them their meaning.
const std::vector<std::string>& unitNames();
bool isUnitName(std::string_view text);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_TOKENS_H
