// The limits of serving in a recipe, and the steps that follow from them.

#ifndef RECIPEC_PASSES_INFERENCE_SERVINGLIMITS_H
#define RECIPEC_PASSES_INFERENCE_SERVINGLIMITS_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recipec::passes {

/// The section `serve`, and `data.sequence`.
struct ServingLimits {
  int64_t maxBatch = 1;    // sequences in a step
  int64_t maxTokens = 1;   // of a prompt and its answer together
  int64_t tokenBudget = 1; // tokens in a step
  int64_t page = 1;        // tokens in a page
  /// How keys and values are stored: in 8 bits, or in the compute type.
  std::optional<ir::DType> cacheType;
  int64_t draftTokens = 0; // draft tokens of a sequence in a step
  SourceRange draftRange;  // of `serve.draft`
  int64_t hostBytes = 0;   // of a rank's host memory for pages
  SourceRange hostRange;   // of `serve.host_memory`
  /// The number of ranks that share the tokens of a step; widths are multiples
  /// of it.
  int64_t tokenRanks = 1;

  /// The number of pages of the longest sequence.
  int64_t pagesOfSequence() const { return (maxTokens + page - 1) / page; }
  /// The smallest width of at least `tokens` that `tokenRanks` divides.
  int64_t rounded(int64_t tokens) const {
    return (tokens + tokenRanks - 1) / tokenRanks * tokenRanks;
  }
  /// The most tokens of a step of width `tokens` for which the step computes
  /// logits.
  int64_t rows(int64_t tokens) const {
    return std::min(tokens, maxBatch * (1 + draftTokens));
  }
};

ServingLimits servingLimits(const recipe::Recipe& recipe);

/// The widths of the steps in tokens, ascending: powers of two up to 512, then
/// four widths to each doubling; `max_batch`, where each sequence has one
/// token; and `token_budget`. Each is rounded up to a multiple of `tokenRanks`.
/// Apart from that rounding, a step in the narrowest width that fits uses at
/// least half of it, and four fifths above 512.
std::vector<int64_t> stepWidths(const ServingLimits& limits);

/// The function of a width: `step_64`.
std::string stepFunction(int64_t tokens);
/// The name under which a width's value is bound: `tokens_64`.
std::string stepBinding(const std::string& role, int64_t tokens);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_SERVINGLIMITS_H
