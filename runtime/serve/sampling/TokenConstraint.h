// The interface between the sampler and structured output.

#ifndef RECIPERUN_SERVE_SAMPLING_TOKENCONSTRAINT_H
#define RECIPERUN_SERVE_SAMPLING_TOKENCONSTRAINT_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>

namespace reciperun::serve {

/// The tokens that may come next in an answer, for example by a grammar.
class TokenConstraint {
public:
  virtual ~TokenConstraint() = default;
  /// Sets bit i % 32 of word i / 32 where token i may come next, and clears the
  /// others. `allowed` has (vocab + 31) / 32 words.
  virtual Status fillMask(std::span<uint32_t> allowed) = 0;
  /// Appends the chosen token to the answer. Fails when it is not allowed.
  virtual Status accept(int32_t token) = 0;
  /// Whether the answer may end here; fillMask then allows the end tokens.
  virtual bool isComplete() const = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_TOKENCONSTRAINT_H
