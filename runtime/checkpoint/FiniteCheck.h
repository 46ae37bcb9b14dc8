// Detects NaN and infinite weights while a tensor is copied.
//
// A damaged file or a diverged training run leaves NaN or infinity in a weight.
// Its model produces no usable output, so imports, exports and conversions
// refuse it.

#ifndef RECIPERUN_CHECKPOINT_FINITECHECK_H
#define RECIPERUN_CHECKPOINT_FINITECHECK_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Elements.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// Checks one tensor, in pieces of any order.
class FiniteCheck {
public:
  /// Checks stored elements of a type; `first` is the row-major index of the
  /// first one in the tensor.
  void look(ElementType type, std::span<const std::byte> bytes, int64_t first);

  /// Fails when an element was NaN or infinite. The message has the lowest such
  /// index, its value and the number of such elements. `tensor` and its shape
  /// are for the message.
  Status outcome(const std::string& tensor,
                 const std::vector<int64_t>& shape) const;

private:
  int64_t found = 0;
  int64_t lowest = 0; // element
  double value = 0;   // of the lowest
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FINITECHECK_H
