// y = x (1 + scale log(floor((p + 1) / floor) + 1)) for a token at position p,
// as in Llama 4's layers without rotary positions. The op is its own transpose:
// the gradient is dy times the same factor.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/AttentionOps.h"

#include <cmath>

namespace reciperun::kernels {

using device::KernelArgs;
using device::Tensor;

Status positionScaleKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &positions = args.inputs[1];
  const int64_t tokens = positions.elements();
  const int64_t width = x.elements() / tokens;
  const double floor = ops::PositionScaleAttributes(args.op.attributes).floor,
               scale = ops::PositionScaleAttributes(args.op.attributes).scale;
  const int32_t* position = positions.as<int32_t>();
  return withType(args, x.type, [&]<class T>(Type<T>) {
    const T* from = x.as<T>();
    T* to = args.outputs[0].as<T>();
    auto body = [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double steps = std::floor((double(position[i]) + 1) / floor);
        const Math<T> factor = Math<T>(1 + scale * std::log(steps + 1));
#pragma omp simd
        for (int64_t j = i * width; j < (i + 1) * width; ++j)
          to[j] = T(Math<T>(from[j]) * factor);
      }
    };
    device::parallelFor(args.context.threads(), tokens, 16, body);
  });
}

} // namespace reciperun::kernels
