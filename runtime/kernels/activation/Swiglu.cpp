// y = silu(gate) * up (Shazeer 2020, SwiGLU), fused, and its two gradients:
//   dgate = dy up silu'(gate), dup = dy silu(gate).

#include "runtime/kernels/activation/Silu.h"
#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"

namespace reciperun::kernels {
namespace {

using device::KernelArgs;

/// `dgate` may be the buffer of `gate`, and `dup` the buffer of `up`.
template <class T> void swigluBackward(const KernelArgs& args) {
  using M = Math<T>;
  const T* dy = args.inputs[0].as<T>();
  const T* gate = args.inputs[1].as<T>();
  const T* up = args.inputs[2].as<T>();
  T* dgate = args.outputs[0].as<T>();
  T* dup = args.outputs[1].as<T>();
  device::parallelFor(args.context.threads(), args.outputs[0].elements(),
                      elementGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
                        for (int64_t i = begin; i < end; ++i) {
                          const M slope = M(dy[i]), g = M(gate[i]),
                                  u = M(up[i]);
                          const M s = M(1) / (M(1) + exponential(-g));
                          dgate[i] = T(slope * u * s * (M(1) + g * (M(1) - s)));
                          dup[i] = T(slope * g * s);
                        }
                      });
}

} // namespace

Status swigluKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [](Math<T> gate, Math<T> up) { return silu(gate) * up; });
  });
}

Status swigluBackwardKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type,
                  [&]<class T>(Type<T>) { swigluBackward<T>(args); });
}

} // namespace reciperun::kernels
