// The index of the largest element of each row.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>
#include <limits>

namespace reciperun::kernels {
namespace {

/// -1 when an element of the row is not finite.
template <class T> int32_t argmax(const T* row, int64_t width) {
  using M = Math<T>;
  M largest = -std::numeric_limits<M>::infinity();
  M differences = 0; // x - x is NaN where x is not finite
#pragma omp simd reduction(max : largest) reduction(+ : differences)
  for (int64_t j = 0; j < width; ++j) {
    const M x = M(row[j]);
    largest = x > largest ? x : largest;
    differences += x - x;
  }
  if (differences != 0)
    return -1;
  return int32_t(
      std::find_if(row, row + width, [&](T x) { return M(x) == largest; }) -
      row);
}

} // namespace

Status argmaxKernel(const device::KernelArgs& args) {
  const device::Tensor &logits = args.inputs[0], &ids = args.outputs[0];
  const int64_t rows = ids.elements(), width = logits.shape.back();
  return withType(args, logits.type, [&]<class T>(Type<T>) {
    device::parallelFor(
        args.context.threads(), rows, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ids.as<int32_t>()[i] = argmax(logits.as<T>() + i * width, width);
        });
  });
}

} // namespace reciperun::kernels
