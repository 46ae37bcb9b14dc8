// Quantizes a matrix to fp8 with one scale, a part on each rank. The first op
// finds the largest element of the rank's part; once the maximum over all parts
// is known, the second op quantizes the part.

#include "runtime/device/Float8.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/kernels/quantize/Quantize.h"
#include "runtime/ops/QuantizationOps.h"

#include <algorithm>
#include <cmath>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;

/// The maximum ignores NaN and does not depend on the order of the elements.
template <class T>
float mostOf(const KernelArgs& args, const T* part, OwnRun run) {
  constexpr int64_t pieces = 64;
  float most[pieces] = {};
  const int64_t count = run.end - run.begin;
  device::parallelFor(
      args.context.threads(), pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece)
          for (int64_t i = run.begin + count * piece / pieces;
               i < run.begin + count * (piece + 1) / pieces; ++i)
            most[piece] = std::fmax(most[piece], std::fabs(float(part[i])));
      });
  return *std::max_element(most, most + pieces);
}

template <class F, class T>
void castPart(const KernelArgs& args, const T* part, OwnRun run) {
  const int64_t place = ops::ShardAmaxAttributes(args.op.attributes).place;
  const float scale = scaleOf<F>(args.inputs[1].as<float>()[place]);
  *args.outputs[1].as<float>() = scale;
  const float factor = 1 / scale;
  F* const q = args.outputs[0].as<F>();
  device::parallelFor(args.context.threads(), run.end - run.begin, 4096,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = run.begin + begin; i < run.begin + end;
                             ++i)
                          q[i] = F(float(part[i]) * factor);
                      });
}

} // namespace

Status shardAmaxKernel(const KernelArgs& args) {
  const device::Tensor& part = args.inputs[0];
  return withType(args, part.type, [&]<class T>(Type<T>) {
    float& most =
        args.outputs[0]
            .as<float>()[ops::ShardAmaxAttributes(args.op.attributes).place];
    most = std::max(most, mostOf(args, part.as<T>(), ownRunOf(args)));
  });
}

Status quantizeShardKernel(const KernelArgs& args) {
  const device::Tensor& part = args.inputs[0];
  return withType(args, part.type, [&]<class T>(Type<T>) {
    if (args.outputs[0].type == plan::DType::f8e4m3)
      castPart<device::f8e4m3>(args, part.as<T>(), ownRunOf(args));
    else
      castPart<device::f8e5m2>(args, part.as<T>(), ownRunOf(args));
  });
}

} // namespace reciperun::kernels
