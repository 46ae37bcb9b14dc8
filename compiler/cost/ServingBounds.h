// Bounds of a server's speed, by a roofline over the device's figures.

#ifndef RECIPEC_COST_SERVINGBOUNDS_H
#define RECIPEC_COST_SERVINGBOUNDS_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstdint>
#include <vector>

namespace recipec::cost {

/// The least time of a step. An op takes the longer of its FLOPs at the
/// device's peak and the bytes that it must read at the memory bandwidth:
/// parameters, pages and states. Routers are taken to choose experts evenly.
struct StepBound {
  double seconds = 0;
  double computeSeconds = 0; // of the FLOPs alone
  double memorySeconds = 0;  // of the bytes alone

  bool isMemoryBound() const { return memorySeconds > computeSeconds; }
};

struct ServingBounds {
  int64_t prompt = 0;    // tokens, `serve.max_input`
  StepBound prefill;     // all steps of a prompt alone on the server
  int64_t context = 0;   // tokens of a sequence in the steps below
  StepBound single;      // a token of one sequence
  int64_t sequences = 0; // most at once: by `serve.max_batch` and the cache
  StepBound full;        // a token of each of them

  double tokensPerSecondAlone() const { return 1 / single.seconds; }
  double tokensPerSecondFull() const {
    return double(sequences) / full.seconds;
  }
};

/// Of the served Programs of all stages, whose cache has `pages` pages; 0
/// without attention. Answers are at half of `data.sequence`. Stages work at
/// the same time where there is a sequence for each of them.
ServingBounds servingBounds(const std::vector<ir::Module>& stages,
                            const recipe::Recipe& recipe, int64_t pages);

} // namespace recipec::cost

#endif // RECIPEC_COST_SERVINGBOUNDS_H
