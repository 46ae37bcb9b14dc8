// Weights that are no numbers: found while a tensor is copied.
//
// A damaged file, or a training that has gone wrong, leaves NaN or infinity in
// a weight. A model with one answers nothing, so that imports, exports and
// conversions refuse it.

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

/// Looks at one tensor, in pieces of any order.
class FiniteCheck {
public:
  /// Elements of a type, as a file has them; the first is number `first` of the
  /// tensor, row-major.
  void look(ElementType type, std::span<const std::byte> bytes, int64_t first);

  /// Fails where an element was NaN or infinite: the lowest such, its value and
  /// how many there are. `tensor` and its shape are for the message.
  Status outcome(const std::string& tensor,
                 const std::vector<int64_t>& shape) const;

private:
  int64_t found = 0;
  int64_t lowest = 0; // element
  double value = 0;   // of the lowest
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FINITECHECK_H
