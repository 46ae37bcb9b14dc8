// Bounds of a server's speed, by a roofline with the device's figures.

#ifndef RECIPEC_COST_SERVINGBOUNDS_H
#define RECIPEC_COST_SERVINGBOUNDS_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstdint>
#include <vector>

namespace recipec::cost {

/// A lower bound of the time of a step. An op takes the longer of its FLOPs at
/// the device's peak and the bytes that it must read at the memory bandwidth:
/// parameters, pages and states. Routers are assumed to choose experts evenly.
struct StepBound {
  double seconds = 0;
  double computeSeconds = 0; // of the FLOPs alone
  double memorySeconds = 0;  // of the bytes alone

  bool isMemoryBound() const { return memorySeconds > computeSeconds; }
};

struct ServingBounds {
  int64_t prompt = 0;    // tokens, `serve.max_input`
  StepBound prefill;     // processing one prompt, nothing else running
  int64_t context = 0;   // tokens of a sequence in the following steps
  StepBound single;      // one token of a single sequence
  int64_t sequences = 0; // most at a time, by `serve.max_batch` and the cache
  StepBound full;        // one token of each of `sequences`

  double tokensPerSecondAlone() const { return 1 / single.seconds; }
  double tokensPerSecondFull() const {
    return double(sequences) / full.seconds;
  }
};

/// Computes the bounds for the served Programs of all stages, whose cache has
/// `pages` pages (0 without attention). Answers are assumed to be at half of
/// `data.sequence`. If there is a sequence for each stage, the stages work at
/// the same time.
ServingBounds servingBounds(const std::vector<ir::Module>& stages,
                            const recipe::Recipe& recipe, int64_t pages);

} // namespace recipec::cost

#endif // RECIPEC_COST_SERVINGBOUNDS_H
