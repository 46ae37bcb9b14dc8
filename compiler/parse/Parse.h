// Source text to syntax tree.
//
//   1. Lexing      text -> raw tokens; checks UTF-8, strings and characters.
//   2. Layout      raw tokens -> tokens: newlines, brackets, nesting.
//   3. ANTLR       tokens -> parse tree, by grammar/Recipe.g4; our own error
//                  strategy, messages and recovery.
//   4. Transformer parse tree -> Ast: precedence, literals, comments.
//
// All syntax errors of a source are reported in one go, one for each cause.

#ifndef RECIPEC_PARSE_PARSE_H
#define RECIPEC_PARSE_PARSE_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

#include <optional>
#include <string>

namespace recipec::parse {

/// The maximum size of a recipe file, in bytes.
inline constexpr size_t maxText = size_t(4) << 20;
/// The maximum number of tokens in a file, including interpolations. An
/// interpolation is lexed and parsed separately and counts as ten more.
inline constexpr size_t maxTokens = 300'000;
inline constexpr size_t tokensOfInterpolation = 10;
/// The maximum nesting of brackets, blocks and conditionals.
inline constexpr int maxNesting = 100;
/// The maximum depth of an expression: operators, members and calls on a
/// result.
inline constexpr int maxExpressionDepth = 250;
/// The maximum nesting of strings in interpolations of strings.
inline constexpr int maxInterpolationDepth = 10;

/// Parses a file. The tree leaves out items with errors and holds only complete
/// nodes. `engine` says whether there were errors.
ast::File parse(const SourceMap& sources, SourceId source,
                diag::Engine& engine);

/// A setting from the command line. `value` is an expression of `file`.
struct Override {
  std::vector<ast::Name> path;
  ast::ExprId value = ast::ExprId::none;
  ast::File file;
};

/// Parses `PATH=VALUE`, the whole text of a source of kind `commandLine`.
/// Reports errors and then returns nullopt.
std::optional<Override> parseOverride(const SourceMap& sources, SourceId source,
                                      diag::Engine& engine);

/// Prints the tokens of a file as the parser sees them, one a line with its
/// place, for `--emit=tokens`.
std::string printTokens(const SourceMap& sources, SourceId source,
                        diag::Engine& engine);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_PARSE_H
