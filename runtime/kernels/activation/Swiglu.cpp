// y = silu(gate) * up (Shazeer 2020, SwiGLU), fused, and its two gradients:
//   dgate = dy up silu'(gate), dup = dy silu(gate).
// For rows of experts, also the dot products of the rows of dy and y.

#include "runtime/kernels/activation/Silu.h"
#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"

#include <algorithm>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;

/// `dgate` may be the buffer of `gate`, and `dup` the buffer of `up`.
template <class T> struct SwigluSlopes {
  using M = Math<T>;
  const T *dy, *gate, *up;
  T *dgate, *dup;

  explicit SwigluSlopes(const KernelArgs& args)
      : dy(args.inputs[0].as<T>()), gate(args.inputs[1].as<T>()),
        up(args.inputs[2].as<T>()), dgate(args.outputs[0].as<T>()),
        dup(args.outputs[1].as<T>()) {}

  /// Computes the gradients of the elements [begin, end). Returns the dot
  /// product of their dy and y, where y is rounded as in `swiglu`.
  M compute(int64_t begin, int64_t end) const {
    M product = 0;
#pragma omp simd reduction(+ : product)
    for (int64_t i = begin; i < end; ++i) {
      const M slope = M(dy[i]), g = M(gate[i]), u = M(up[i]);
      const M s = M(1) / (M(1) + exponential(-g));
      product += slope * M(T(silu(g) * u));
      dgate[i] = T(slope * u * s * (M(1) + g * (M(1) - s)));
      dup[i] = T(slope * g * s);
    }
    return product;
  }
};

} // namespace

Status swigluKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [](Math<T> gate, Math<T> up) { return silu(gate) * up; });
  });
}

Status swigluBackwardKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    const SwigluSlopes<T> slopes(args);
    device::parallelFor(
        args.context.threads(), args.outputs[0].elements(), elementGrain,
        [=](int64_t begin, int64_t end) { slopes.compute(begin, end); });
  });
}

Status swigluBackwardDotsKernel(const KernelArgs& args) {
  const device::Tensor& dots = args.outputs[2];
  const int64_t rows = dots.elements(),
                width = args.outputs[0].elements() / rows;
  const int64_t grain = std::max<int64_t>(1, elementGrain / width);
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    const SwigluSlopes<T> slopes(args);
    device::parallelFor(
        args.context.threads(), rows, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            dots.as<Math<T>>()[i] = slopes.compute(i * width, (i + 1) * width);
        });
  });
}

} // namespace reciperun::kernels
