// Maps rows of experts to the tokens that chose them, on a GPU; see
// ExpertRows.h.
//
// A row has at most one choice. Kernels that write rows of experts iterate over
// the rows: `choiceOf` [rows], in the scratch, has the choice of each row, so
// that each row is stored once, and rows without a token are zeros.

#ifndef RECIPERUN_KERNELS_MOE_EXPERTROWS_CUH
#define RECIPERUN_KERNELS_MOE_EXPERTROWS_CUH

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/RowTiles.cuh"
#include "runtime/kernels/common/Scratch.cuh"

namespace reciperun::kernels {

/// The tokens' choices and their rows.
struct ExpertRowsOnGpu {
  int64_t tokens, width;
  int choices;
  int64_t count; // rows of all experts
  const int32_t* rows;

  /// `numbers` [.., choices], `atTokens` [.., width], `atExperts` [g, p,
  /// width].
  ExpertRowsOnGpu(const device::Tensor& numbers, const device::Tensor& atTokens,
                  const device::Tensor& atExperts)
      : tokens(numbers.elements() / numbers.shape.back()),
        width(atTokens.shape.back()), choices(int(numbers.shape.back())),
        count(atExperts.elements() / width), rows(numbers.as<int32_t>()) {}

  /// The row of a choice, or -1. It is checked against `count`, because it
  /// comes from a buffer.
  __device__ int64_t rowOf(int64_t choice) const {
    const int32_t row = rows[choice];
    return row >= 0 && row < count ? row : -1;
  }
};

/// The error if the scratch cannot hold a number for each row.
inline Status tooManyExpertRows(int64_t rows) {
  return Status::error("its experts have " + std::to_string(rows) +
                       " rows, which are more than the scratch of a GPU "
                       "numbers; make micro-batches smaller");
}

namespace experts {

inline constexpr int copiesPerThread = 2, gateWarps = 8;

inline __global__ void __launch_bounds__(256)
    invert(ExpertRowsOnGpu experts, int32_t* choiceOf) {
  const int64_t choice = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (choice >= experts.tokens * experts.choices)
    return;
  if (const int64_t row = experts.rowOf(choice); row >= 0)
    choiceOf[row] = int32_t(choice);
}

/// The tiles' rows are rows of experts.
template <class T, int n>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    scatter(RowTiles tiles, int choices, const int32_t* choiceOf, const T* x,
            const float* gates, T* out) {
  const int64_t width = tiles.columns * n, at = tiles.column() * n;
  if (at >= width)
    return;
  Vector<T, n> parts[copiesPerThread];
  float factors[copiesPerThread];
#pragma unroll
  for (int u = 0; u < copiesPerThread; ++u) {
    parts[u] = {};
    factors[u] = 1;
    if (tiles.row(u) >= tiles.rows)
      continue;
    const int32_t choice = choiceOf[tiles.row(u)];
    if (choice < 0)
      continue;
    parts[u] = Vector<T, n>::load(x + int64_t(choice / choices) * width + at);
    if (gates)
      factors[u] = gates[choice];
  }
#pragma unroll
  for (int u = 0; u < copiesPerThread; ++u) {
    if (tiles.row(u) >= tiles.rows)
      return;
    float values[n];
#pragma unroll
    for (int e = 0; e < n; ++e)
      values[e] = factors[u] * parts[u][e];
    rounded<T, n>(values).store(out + tiles.row(u) * width + at);
  }
}

/// The tiles' rows are tokens.
template <class T, int n>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    gather(RowTiles tiles, ExpertRowsOnGpu experts, const T* y,
           const float* gates, T* out) {
  constexpr int unroll = 4;
  const int64_t width = experts.width, at = tiles.column() * n;
  const int64_t token = tiles.row(0);
  if (at >= width || token >= tiles.rows)
    return;
  float sum[n] = {};
  const int64_t end = (token + 1) * experts.choices;
  for (int64_t first = token * experts.choices; first < end; first += unroll) {
    Vector<T, n> parts[unroll];
    float factors[unroll];
    int64_t rows[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      parts[u] = {};
      factors[u] = 1;
      rows[u] = first + u < end ? experts.rowOf(first + u) : -1;
      if (rows[u] < 0)
        continue;
      parts[u] = Vector<T, n>::load(y + rows[u] * width + at);
      if (gates)
        factors[u] = gates[first + u];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int e = 0; e < n && rows[u] >= 0; ++e)
        sum[e] += factors[u] * parts[u][e];
    }
  }
  rounded<T, n>(sum).store(out + token * width + at);
}

/// The dot product of two rows, by one warp.
template <class T, int n>
__device__ float dotOfRows(const T* left, const T* right, int64_t width) {
  float product = 0;
#pragma unroll 4
  for (int64_t at = int64_t(threadIdx.x) * n; at < width; at += 32 * n) {
    const auto a = Vector<T, n>::load(left + at);
    const auto b = Vector<T, n>::load(right + at);
#pragma unroll
    for (int e = 0; e < n; ++e)
      product += a[e] * b[e];
  }
  return acrossLanes(product, 32, Plus());
}

/// One warp per choice.
template <class T, int n>
__global__ void __launch_bounds__(32 * gateWarps)
    multiply(ExpertRowsOnGpu experts, const T* atTokens, const T* atExperts,
             float* dgates) {
  const int64_t choice = int64_t(blockIdx.x) * gateWarps + threadIdx.y;
  if (choice >= experts.tokens * experts.choices)
    return;
  const int64_t row = experts.rowOf(choice), width = experts.width;
  const float product =
      row < 0 ? 0
              : dotOfRows<T, n>(atTokens + choice / experts.choices * width,
                                atExperts + row * width, width);
  if (threadIdx.x == 0)
    dgates[choice] = product;
}

/// Calls body(n), where n is the number of elements of T per access.
template <class T, class Body>
void withVectors(int64_t width, bool aligned, Body body) {
  constexpr int n = vectorLength<T>;
  if (width % n == 0 && aligned)
    body(std::integral_constant<int, n>());
  else
    body(std::integral_constant<int, 1>());
}

} // namespace experts

/// choiceOf[row] = the choice that uses the row, or -1.
inline void invertRows(const device::CudaKernelArgs& args,
                       const ExpertRowsOnGpu& rows, int32_t* choiceOf) {
  const cudaStream_t stream = args.context.stream();
  cudaMemsetAsync(choiceOf, 0xff, size_t(rows.count) * sizeof(int32_t), stream);
  const int64_t blocks = ceilDivide(rows.tokens * rows.choices, 256);
  experts::invert<<<unsigned(blocks), 256, 0, stream>>>(rows, choiceOf);
}

/// out[row] = gate x[token] for each choice, 0 elsewhere. The gate is 1 if
/// `gates` is null.
template <class T>
void scatterToExperts(const device::CudaKernelArgs& args,
                      const ExpertRowsOnGpu& rows, const int32_t* choiceOf,
                      const T* x, const float* gates, T* out) {
  experts::withVectors<T>(rows.width, areAligned(16, x, out), [&](auto n) {
    const RowTiles tiles(rows.count, rows.width / n.value,
                         experts::copiesPerThread);
    experts::scatter<T, n.value>
        <<<tiles.blocks(), tiles.threads(), 0, args.context.stream()>>>(
            tiles, rows.choices, choiceOf, x, gates, out);
  });
}

/// out[token] = the sum of gate y[row] over its choices, in order.
template <class T>
void gatherFromExperts(const device::CudaKernelArgs& args,
                       const ExpertRowsOnGpu& rows, const T* y,
                       const float* gates, T* out) {
  experts::withVectors<T>(rows.width, areAligned(16, y, out), [&](auto n) {
    const RowTiles tiles(rows.tokens, rows.width / n.value, 1);
    experts::gather<T, n.value>
        <<<tiles.blocks(), tiles.threads(), 0, args.context.stream()>>>(
            tiles, rows, y, gates, out);
  });
}

/// dgates[choice] = the dot product of its token's row of `atTokens` and its
/// row of `atExperts`; 0 for a choice without a row.
template <class T>
void gradientOfGates(const device::CudaKernelArgs& args,
                     const ExpertRowsOnGpu& rows, const T* atTokens,
                     const T* atExperts, float* dgates) {
  using namespace experts;
  const int64_t blocks = ceilDivide(rows.tokens * rows.choices, gateWarps);
  withVectors<T>(rows.width, areAligned(16, atTokens, atExperts), [&](auto n) {
    multiply<T, n.value>
        <<<unsigned(blocks), dim3(32, gateWarps), 0, args.context.stream()>>>(
            rows, atTokens, atExperts, dgates);
  });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_MOE_EXPERTROWS_CUH
