// Help for the syntax of Python, YAML, JSON, TOML, C and other languages.
// Private to this folder.
//
// Each function belongs to a family of rules. A rule looks for one form at the
// unexpected token. The first rule that matches adds help, and a fix-it that is
// safe if the meaning is certain. It may also reword the message, because a
// list of expected tokens says little about another language. Each function
// returns false if no rule matches.

#ifndef RECIPEC_PARSE_FOREIGNSYNTAX_H
#define RECIPEC_PARSE_FOREIGNSYNTAX_H

#include "compiler/parse/ErrorStrategy.h"

namespace recipec::parse {

#define FOREIGN_FAMILY(Name)                                                   \
  bool helpWith##Name(const SourceMap& sources, const TokenList& list,         \
                      const SyntaxError& error, diag::Builder& report);

/// Operators, comments and prefixes of strings.
FOREIGN_FAMILY(ForeignOperators)
/// Numbers, powers and durations.
FOREIGN_FAMILY(ForeignNumbers)
/// Definitions of functions and blocks.
FOREIGN_FAMILY(ForeignFunctions)
/// Mixins among the items of braces.
FOREIGN_FAMILY(ForeignMixins)
/// Statements of blocks and items of braces.
FOREIGN_FAMILY(ForeignStatements)
/// Unpacking of lists, arguments and results.
FOREIGN_FAMILY(Unpacking)
/// Types.
FOREIGN_FAMILY(ForeignTypes)
/// Choices among values, `match` and `switch`.
FOREIGN_FAMILY(ForeignChoices)
/// Imports.
FOREIGN_FAMILY(ForeignImports)
/// Other declarations of a file.
FOREIGN_FAMILY(ForeignDeclarations)
/// YAML, JSON and TOML.
FOREIGN_FAMILY(ForeignData)

#undef FOREIGN_FAMILY

/// Our name for a type of another language, `string` for `str`; empty for other
/// names.
std::string_view ownTypeOf(std::string_view name);
/// Help for a word that is an operator in another language, `7 mod 2`, with the
/// operands as written; empty for other words.
std::string wordOperatorHelp(const std::string& left, std::string_view word,
                             const std::string& right);
/// The type that begins at a token, in our notation; empty if there is none.
std::string ownTypeAt(const SourceMap& sources, const TokenList& list,
                      size_t first);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_FOREIGNSYNTAX_H
