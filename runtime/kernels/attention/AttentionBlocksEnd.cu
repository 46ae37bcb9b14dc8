// The last step of an attention over blocks of keys, on a GPU: out = sum, and
// lse = 0 for queries that saw no key.

#include "runtime/kernels/attention/AttentionShape.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::DType;

struct Same {
  __device__ float operator()(float x) const { return x; }
};

struct ForgetMark {
  __device__ float operator()(float lse) const {
    return lse == cuda::nothingSeenYet ? 0.0f : lse;
  }
};

} // namespace

Status attentionBlocksEndCudaKernel(const CudaKernelArgs& args) {
  const Tensor &sum = args.inputs[0], &out = args.outputs[0],
               &lse = args.outputs[1];
  if (sum.type != DType::f32)
    return noDeviceType(args);
  const MapOperands<float, 1, float, 1> logs{{lse.as<float>()},
                                             {lse.as<float>()}};
  mapElements(args, lse.elements(), logs, ForgetMark());
  return withDeviceType(args, out.type, [&]<class T>(DeviceType<T>) {
    if (sum.data == out.data)
      return;
    const MapOperands<float, 1, T, 1> rows{{sum.as<float>()}, {out.as<T>()}};
    mapElements(args, out.elements(), rows, Same());
  });
}

} // namespace reciperun::kernels
