// The parts of JSON texts (RFC 8259) as expressions.
//
// White space stands only where it helps a reader: behind `{`, `[`, `,` and `:`
// and before `}` and `]`, as a blank or as a line end with an indent. It is
// bounded, so that a model cannot write it for ever; so are the digits of a
// number, so that every reader takes it.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_JSONTEXT_H
#define RECIPERUN_GRAMMAR_SCHEMA_JSONTEXT_H

#include "runtime/grammar/Expression.h"

#include <cstdint>

namespace reciperun::grammar {

/// Digits before the point of a number, and behind it.
constexpr int64_t maxWholeDigits = 18;
constexpr int64_t maxFractionDigits = 17;

/// A string of between `least` and `most` characters, in quotation marks, with
/// any escapes.
ExpressionPtr jsonString(int64_t least, std::optional<int64_t> most);

/// The contents of a string that match an expression of characters (of
/// Regex.h). What JSON does not take in a string is escaped, in one way;
/// nothing else is.
ExpressionPtr jsonEscaped(const ExpressionPtr& characters);

/// Any characters, in the one way of jsonEscaped.
ExpressionPtr jsonEscapedText(int64_t least, std::optional<int64_t> most);

/// Whole numbers and numbers without a bound.
ExpressionPtr jsonInteger();
ExpressionPtr jsonNumber();

/// The rules of values of which only the type is known.
struct AnyJson {
  RuleId space = 0; // optional white space
  RuleId string = 0;
  RuleId number = 0;
  RuleId object = 0;
  RuleId array = 0;
  RuleId value = 0;
};
AnyJson addAnyJson(Rules& rules);

/// `open`, `items` or nothing if `mayBeEmpty`, `close`, with white space.
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
