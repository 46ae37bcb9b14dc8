// in = elements of A / rank, out = elements of B / rank.

#include "runtime/plan/LoraFactors.h"

#include "runtime/plan/Mesh.h"

namespace reciperun::plan {

bool areLoraFactors(const std::vector<int64_t>& matrix,
                    const std::vector<int64_t>& a,
                    const std::vector<int64_t>& b) {
  if (matrix.empty() || a.empty() || b.empty() || a.front() != b.back())
    return false;
  int64_t in = elementCount(a) / a.front();
  int64_t out = elementCount(b) / b.back(), product = 0;
  return !__builtin_mul_overflow(in, out, &product) &&
         product == elementCount(matrix) &&
         (product / matrix.front()) % in == 0;
}

} // namespace reciperun::plan
