// Regular expressions, in the syntax that ECMAScript and Python share.
//
// Characters, `.`, classes, \d \w \s and their complements, escapes of code
// points, groups, alternatives, `* + ? {m} {m,} {m,n}` and their lazy forms;
// `^` and `$` at the ends. \d, \w and \s are of ASCII; `.` is any character but
// a line end (\n \r U+2028 U+2029), which is what it is in both languages.
// Look-around, back-references, word boundaries, flags and Unicode properties
// are refused by name.

#ifndef RECIPERUN_GRAMMAR_REGEX_H
#define RECIPERUN_GRAMMAR_REGEX_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Expression.h"

#include <string_view>

namespace reciperun::grammar {

enum class RegexMatch {
  whole,   // the expression matches the whole text
  anywhere // the text contains a match, as in JSON schemas
};

/// Parses an expression into characters, sequences, choices and repetitions. A
/// failure states the column and what is wrong there.
Expected<ExpressionPtr> parseRegex(std::string_view pattern, RegexMatch match);

/// The grammar of the texts that the expression matches as a whole.
Expected<Rules> rulesOfRegex(std::string_view pattern);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_REGEX_H
