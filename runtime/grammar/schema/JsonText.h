// The parts of JSON texts (RFC 8259) as expressions.
//
// White space is allowed only where it helps a reader: after `{`, `[`, `,` and
// `:` and before `}` and `]`, as a blank or as a line break with an indent. It
// is bounded, so that a model cannot write it forever. The digits of a number
// are bounded too, so that every JSON reader accepts it.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_JSONTEXT_H
#define RECIPERUN_GRAMMAR_SCHEMA_JSONTEXT_H

#include "runtime/grammar/Expression.h"

#include <cstdint>

namespace reciperun::grammar {

/// The most digits of a number before and after its point.
constexpr int64_t maxWholeDigits = 18;
constexpr int64_t maxFractionDigits = 17;

/// A string of between `least` and `most` characters, in quotation marks, with
/// any escapes.
ExpressionPtr jsonString(int64_t least, std::optional<int64_t> most);

/// The contents of a JSON string whose characters match an expression (of
/// Regex.h). Characters that JSON does not allow are escaped, each in one form;
/// no others are.
ExpressionPtr jsonEscaped(const ExpressionPtr& characters);

/// Any characters, escaped like in jsonEscaped.
ExpressionPtr jsonEscapedText(int64_t least, std::optional<int64_t> most);

/// Numbers without bounds: whole numbers, and all numbers.
ExpressionPtr jsonInteger();
ExpressionPtr jsonNumber();

/// Rules that match any value of a type.
struct AnyJson {
  RuleId space = 0; // optional white space
  RuleId string = 0;
  RuleId number = 0;
  RuleId object = 0;
  RuleId array = 0;
  RuleId value = 0;
};
AnyJson addAnyJson(Rules& rules);

/// `open`, `items` (or nothing if `mayBeEmpty`) and `close`, with white space.
ExpressionPtr bracketed(const AnyJson& any, const char* open,
                        ExpressionPtr items, const char* close,
                        bool mayBeEmpty);
/// `,` and white space.
ExpressionPtr commaOf(const AnyJson& any);
/// `key: value` with white space; the key is with its quotation marks.
ExpressionPtr memberOf(const AnyJson& any, ExpressionPtr key,
                       ExpressionPtr value);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_JSONTEXT_H
