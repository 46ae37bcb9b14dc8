// Rotary position embedding (Su et al. 2021, eq. 34) in the layout of Hugging
// Face: element i is paired with element i + d/2, and the pair is rotated by
// the angle position * frequency(i). Interleaved, 2i is paired with 2i + 1. d
// is the width of a head or of its rotated first part. The remaining elements
// are unchanged.
//
// RopeFrequencies.cpp has the frequencies. The inverse rotates by the negative
// angle. It is the transpose and therefore the backward.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/attention/HeadRotation.h"
#include "runtime/kernels/common/Kernels.h"

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

template <class T> void rope(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &positions = args.inputs[1];
  const int64_t width = x.shape.back(), tokens = positions.elements();
  const int64_t heads = x.elements() / tokens / width;
  device::parallelFor(
      args.context.threads(), tokens, 16, [&](int64_t begin, int64_t end) {
        HeadRotation<T> rotation(args.op, width);
        for (int64_t token = begin; token < end; ++token) {
          const int64_t at = token * heads * width;
          rotation.setPosition(positions.as<int32_t>()[token]);
          rotation.turn(heads, x.as<T>() + at, args.outputs[0].as<T>() + at);
        }
      });
}

} // namespace

Status ropeKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { rope<T>(args); });
}

} // namespace reciperun::kernels
