// Limits of grammars. Grammars come with requests and are untrusted; the error
// for a grammar that exceeds a limit states the limit.

#ifndef RECIPERUN_GRAMMAR_LIMITS_H
#define RECIPERUN_GRAMMAR_LIMITS_H

#include <cstddef>
#include <cstdint>

namespace reciperun::grammar {

/// Bytes of the text of a schema, regular expression or grammar.
constexpr size_t maxTextBytes = size_t(1) << 20;
/// Nesting of groups, and of schemas.
constexpr int maxNesting = 96;
/// The largest count of a repetition: `{N}`, `maxLength`, `maxItems`.
constexpr int64_t maxRepetitions = 100'000;
constexpr size_t maxRules = 20'000;
/// Schemas that apply to one value, alternatives of `oneOf`, names in
/// `required`.
constexpr size_t maxTogether = 512;
constexpr size_t maxEnumValues = 4096;
/// Values of `pattern` and `format` that one string must match.
constexpr size_t maxPatterns = 8;
/// Nesting of rules that begin with other rules.
constexpr int maxFirstCalls = 500;
/// States of all rules together.
constexpr size_t maxStates = 250'000;
/// States of both operands and the result of an intersection.
constexpr size_t maxRegularStates = 120'000;
/// Edges of all rules together, and members of all sets of states while a rule
/// is made deterministic.
constexpr size_t maxEdges = 4'000'000;
/// Ways to read the same text.
constexpr size_t maxParses = 256;
/// Steps for one mask. An ordinary grammar takes about one for each byte of the
/// vocabulary.
constexpr int64_t maxMaskSteps = 50'000'000;
/// Bytes of the cached masks of a grammar. When they are exceeded, the cache is
/// cleared.
constexpr size_t maxCacheBytes = size_t(64) << 20;

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_LIMITS_H
