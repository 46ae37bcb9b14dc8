// Draws a token by the filters of `sample` (ops/sampling.ops).
//
// - min-p: N. Nguyen et al., "Turning Up the Heat", 2024, section 3;
// - top-k: the first k tokens;
// - top-p: A. Holtzman et al., "The Curious Case of Neural Text Degeneration",
//   2020, equation 2.
// vLLM applies them in this order, after the temperature.

#ifndef RECIPERUN_KERNELS_SAMPLING_TOKENDRAW_H
#define RECIPERUN_KERNELS_SAMPLING_TOKENDRAW_H

#include "runtime/kernels/sampling/LogitBlocks.h"
#include "runtime/kernels/sampling/Softmax.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::kernels {

/// The options of a draw. A row of the operand `draws` of `sample` holds them
/// and the random number.
struct DrawOptions {
  double temperature = 0; // 0: the likeliest token
  int64_t topK = 0;       // 0: off
  double topP = 1;
  double minP = 0;
};

/// The random number for token `index` of an answer, uniform in [0, 1) in steps
/// of 2^-53.
double uniformOf(uint64_t seed, int64_t index);

class TokenDraw {
public:
  /// Chooses a token by inversion of the cumulative distribution at `uniform`,
  /// in [0, 1). `blocks` has scanned the logits, and a token can be chosen.
  int32_t draw(const DrawOptions& options, std::span<const float> logits,
               LogitBlocks& blocks, double uniform);

private:
  void collect(const DrawOptions& options, std::span<const float> logits,
               LogitBlocks& blocks, SoftmaxWeights weights);
  float leastLogit(const DrawOptions& options, std::span<const float> logits,
                   SoftmaxWeights weights, float highest);
  void applyMinP(double minP, SoftmaxWeights weights, float highest);
  void applyTopP(double topP, SoftmaxWeights weights, double total);
  Candidate lastOfTopP(SoftmaxWeights weights, double least);
  double sumCandidates(SoftmaxWeights weights) const;

  WeightSums sums;                   // of all tokens
  std::vector<Candidate> candidates; // in the order of their ids
  std::vector<Candidate> order;      // working copy
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_SAMPLING_TOKENDRAW_H
