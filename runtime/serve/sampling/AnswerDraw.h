// The draw of an answer's next tokens from the model's logits.

#ifndef RECIPERUN_SERVE_SAMPLING_ANSWERDRAW_H
#define RECIPERUN_SERVE_SAMPLING_ANSWERDRAW_H

#include "runtime/kernels/sampling/TokenDraw.h"

#include <cstdint>

namespace reciperun::serve {

/// The random number of a token is a function of the seed and of the token's
/// index in the answer, so that an answer does not depend on other requests.
struct AnswerDraw {
  kernels::DrawOptions options = {}; // the likeliest token
  uint64_t seed = 0;
  int64_t token = 0; // the index of the next one

  double uniform(int64_t ahead = 0) const {
    return kernels::uniformOf(seed, token + ahead);
  }
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_ANSWERDRAW_H
