// s += scale * sum of x^2: a rank's contribution to the gradient's squared
// norm.
//
// The sum is computed in f64, in a fixed number of pieces that are added in
// order, so it does not depend on the number of threads.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/OptimizerOps.h"

#include <array>
#include <numeric>

namespace reciperun::kernels {
namespace {

constexpr int64_t pieces = 256;

template <class T> double sumSquares(const T* x, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i)
    sum += double(x[i]) * double(x[i]);
  return sum;
}

} // namespace

Status sumSquaresKernel(const device::KernelArgs& args) {
  const device::Tensor& x = args.inputs[0];
  return withType(args, x.type, [&]<class T>(Type<T>) {
    std::array<double, pieces> sums{};
    const int64_t count = x.elements();
    device::parallelFor(
        args.context.threads(), pieces, 1, [&](int64_t begin, int64_t end) {
          for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t from = count * piece / pieces;
            const int64_t to = count * (piece + 1) / pieces;
            sums[size_t(piece)] = sumSquares(x.as<T>() + from, to - from);
          }
        });
    *args.outputs[0].as<double>() +=
        ops::SumSquaresAttributes(args.op.attributes).scale *
        std::accumulate(sums.begin(), sums.end(), 0.0);
  });
}

} // namespace reciperun::kernels
