// The index of the largest element of each row, on a GPU: a block a row.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"

namespace reciperun::kernels {
namespace {

constexpr int rowThreads = 512;
/// The key of an element that is not finite, above all others.
constexpr uint64_t notFinite = UINT64_MAX;

/// Orders elements by value, and equal values by descending index. -0 equals
/// 0.
__device__ uint64_t keyOf(float value, int64_t index) {
  if (!isfinite(value))
    return notFinite;
  const uint32_t bits = __float_as_uint(value == 0 ? 0.f : value);
  const uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
  return uint64_t(ordered) << 32 | ~uint32_t(index);
}

struct LargerKey {
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const {
    return a > b ? a : b;
  }
};

template <class T, int n>
__global__ void __launch_bounds__(rowThreads)
    argmax(const T* logits, int64_t width, int32_t* ids) {
  __shared__ uint64_t room[32];
  uint64_t largest[1] = {0};
  forVectors<rowThreads, n>(logits + blockIdx.x * width, width,
                            [&](int64_t at, const Vector<T, n>& part) {
#pragma unroll
                              for (int e = 0; e < n; ++e)
                                largest[0] = LargerKey()(
                                    largest[0], keyOf(part[e], at + e));
                            });
  acrossRow(largest, room, LargerKey(), uint64_t(0));
  if (threadIdx.x == 0)
    ids[blockIdx.x] =
        largest[0] == notFinite ? -1 : int32_t(~uint32_t(largest[0]));
}

} // namespace

Status argmaxCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &logits = args.inputs[0], &ids = args.outputs[0];
  const int64_t rows = ids.elements(), width = logits.shape.back();
  return withDeviceType(args, logits.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        width,
        [&](auto n) {
          argmax<T, n.value>
              <<<unsigned(rows), rowThreads, 0, args.context.stream()>>>(
                  logits.as<T>(), width, ids.as<int32_t>());
        },
        logits.data);
  });
}

} // namespace reciperun::kernels
