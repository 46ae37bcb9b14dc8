// Draws a token at a temperature above 0, with min-p, top-k and top-p.
//
// Each filter keeps the first tokens in the order of descending logits, equal
// logits by ascending id, and at least one token:
// - min-p: a probability of at least min-p times the largest (N. Nguyen et al.,
//   "Turning Up the Heat", 2024, section 3);
// - top-k: the first k tokens;
// - top-p: the fewest whose probabilities, relative to those that min-p and
//   top-k keep, sum to at least p (A. Holtzman et al., "The Curious Case of
//   Neural Text Degeneration", 2020, equation 2).
// vLLM applies them in this order, after the temperature.

#ifndef RECIPERUN_SERVE_SAMPLING_TOKENDRAW_H
#define RECIPERUN_SERVE_SAMPLING_TOKENDRAW_H

#include "runtime/serve/sampling/LogitBlocks.h"
#include "runtime/serve/sampling/SamplingOptions.h"
#include "runtime/serve/sampling/Softmax.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

class TokenDraw {
public:
  /// `options` are valid, and their temperature is above 0.
  explicit TokenDraw(const SamplingOptions& options);

  /// Draws a token by inversion of the cumulative distribution at `uniform`, in
  /// [0, 1). `blocks` has scanned the logits, and a token can be chosen.
  int32_t draw(std::span<const float> logits, LogitBlocks& blocks,
               double uniform);

private:
  void collect(std::span<const float> logits, LogitBlocks& blocks,
               SoftmaxWeights weights);
  float leastLogit(std::span<const float> logits, SoftmaxWeights weights,
                   float highest);
  void applyMinP(SoftmaxWeights weights, float highest);
  void applyTopP(SoftmaxWeights weights, double total);
  Candidate lastOfTopP(SoftmaxWeights weights, double least);
  double sumCandidates(SoftmaxWeights weights) const;
  bool hasTopK(size_t vocab) const { return topK > 0 && topK < vocab; }

  double temperature;
  size_t topK; // 0: off
  double topP;
  double minP;
  WeightSums sums; // of all tokens
  /// In an order that depends on nothing but the logits: that of the filters
  /// where top-k is on, otherwise that of the ids.
  std::vector<Candidate> candidates;
  std::vector<Candidate> order; // working copy
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_TOKENDRAW_H
