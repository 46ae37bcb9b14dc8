// Norm weights in registers, and the sums of their gradients. A block has the
// weight of its row of a token (RowFeeds.cuh).

#ifndef RECIPERUN_KERNELS_NORM_NORMWEIGHTS_CUH
#define RECIPERUN_KERNELS_NORM_NORMWEIGHTS_CUH

#include "runtime/kernels/common/NormRows.h"
#include "runtime/kernels/common/RowSlices.cuh"
#include "runtime/ops/NormOps.h"

namespace reciperun::kernels {

/// A norm's weight as stored (null for a weight of 1), and the value to add to
/// it.
template <class T> struct NormWeight {
  const T* data;
  float first; // 1 if the weight is stored minus 1
};

template <class T>
NormWeight<T> normWeight(const device::CudaKernelArgs& args,
                         const device::Tensor& w) {
  const bool isLessOne =
      !w.present() || ops::RmsNormAttributes(args.op.attributes).centered;
  return {w.as<T>(), isLessOne ? 1.0f : 0.0f};
}

/// A thread's slice of the weight. An absent weight is a row of zeros, stored
/// minus 1.
template <class T, int vectors, bool whole> class WeightPart {
public:
  __device__ WeightPart(NormWeight<T> weight, int width) : first(weight.first) {
    const bool isThere = weight.data;
    part.load(isThere ? weight.data + int64_t(blockIdx.y) * width : nullptr,
              isThere ? width : 0);
  }
  __device__ float operator()(int v, int e) const {
    return first + part.parts[v][e];
  }

private:
  RowPart<T, vectors, whole> part;
  float first;
};

/// Stores the sums of a block's rows to `to` [width]; each thread has the sums
/// of its columns. If the block has several rows, `room` holds a row of floats
/// for each.
template <class Part, int vectors, int n>
__device__ void storeBlockSums(const float (&sums)[vectors][n], float* room,
                               int width, float* to) {
  const bool isShared = blockDim.y > 1;
  float* mine = isShared ? room + int(threadIdx.y) * width : to;
#pragma unroll
  for (int v = 0; v < vectors; ++v)
#pragma unroll
    for (int e = 0; e < n; ++e)
      if (Part::column(v) + e < width)
        mine[Part::column(v) + e] = sums[v][e];
  if (!isShared)
    return;
  __syncthreads();
  const int thread = int(threadIdx.y * blockDim.x + threadIdx.x);
  for (int j = thread; j < width; j += int(blockDim.x * blockDim.y)) {
    float sum = 0;
    for (int row = 0; row < int(blockDim.y); ++row)
      sum += room[row * width + j];
    to[j] = sum;
  }
}

/// The size of `room` in bytes.
inline size_t blockSumBytes(const RowBlock& block, int64_t width) {
  return block.threads.y > 1
             ? size_t(block.threads.y) * size_t(width) * sizeof(float)
             : 0;
}

/// The number of blocks for each row of a token. Together they fill the
/// registers of the multiprocessors, where each thread keeps rows and column
/// sums.
inline int64_t blocksOfSums(const device::CudaKernelArgs& args,
                            const RowBlock& block, const NormRows& rows) {
  const int64_t threads = int64_t(block.threads.x) * block.threads.y;
  const int64_t resident = std::max<int64_t>(1, 512 / threads);
  return std::min(
      block.blocks(rows.tokens),
      ceilDivide(resident * args.context.multiprocessors(), rows.perToken));
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_NORM_NORMWEIGHTS_CUH
