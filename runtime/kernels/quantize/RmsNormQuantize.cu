// Quantizes the result of an RMSNorm on a GPU, with a scale for each row: the
// input of a serving step's matmuls. The bits equal those of the two ops in
// sequence, up to the order of a row's sum of squares.
//
// A thread block makes a row, which stays in registers if it has a usual
// length. Longer rows are read three times.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/norm/NormWeights.cuh"
#include "runtime/kernels/quantize/QuantizeWholeRows.cuh"

namespace reciperun::kernels {
namespace {

using narrow::E4m3;
using narrow::Matrix;
using narrow::rowThreads;

template <class T> struct NormedRows {
  const T* x; // [rows, columns]
  NormWeight<T> weight;
  float eps;

  __device__ float rstdOf(float squares, int64_t columns) const {
    return 1.0f / sqrtf(squares / float(columns) + eps);
  }

  /// The vector of the weight at a column.
  template <int n> __device__ Vector<T, n> weightAt(int64_t column) const {
    if (weight.data)
      return Vector<T, n>::load(weight.data + column);
    const float zeros[n] = {};
    return rounded<T, n>(zeros);
  }

  template <int n>
  __device__ Vector<T, n> normed(const Vector<T, n>& of, const Vector<T, n>& by,
                                 float rstd) const {
    float made[n];
#pragma unroll
    for (int e = 0; e < n; ++e)
      made[e] = of[e] * rstd * (weight.first + by[e]);
    return rounded<T, n>(made);
  }
};

template <class T, int n>
__device__ float addSquares(float sum, const Vector<T, n>& of) {
#pragma unroll
  for (int e = 0; e < n; ++e)
    sum += of[e] * of[e];
  return sum;
}

/// Each thread keeps up to `kept` vectors of the row. Requires accesses of 16
/// bytes.
template <class T, int kept>
__global__ void __launch_bounds__(rowThreads)
    quantizeNormedRow(const __grid_constant__ NormedRows<T> rows,
                      const __grid_constant__ Matrix m) {
  constexpr int n = vectorLength<T>;
  __shared__ float room[32];
  startOverlapped();
  const int64_t first = int64_t(blockIdx.x) * m.columns;
  const int vectors = int(m.columns / n);
  Vector<T, n> values[kept], weights[kept];
  float squares[1] = {0};
#pragma unroll
  for (int k = 0; k < kept; ++k) {
    const int at = min(int(threadIdx.x) + k * rowThreads, vectors - 1) * n;
    values[k] = Vector<T, n>::load(rows.x + first + at);
    weights[k] = rows.template weightAt<n>(at);
  }
#pragma unroll
  for (int k = 0; k < kept; ++k)
    if (int(threadIdx.x) + k * rowThreads < vectors)
      squares[0] = addSquares(squares[0], values[k]);
  sumAcrossRow(squares, room);
  const float rstd = rows.rstdOf(squares[0], m.columns);
  narrow::Most<T> most;
#pragma unroll
  for (int k = 0; k < kept; ++k) {
    values[k] = rows.normed(values[k], weights[k], rstd);
    most.see(values[k]);
  }
  const float factor = __frcp_rn(narrow::rowScale<E4m3>(most.value(), m));
#pragma unroll
  for (int k = 0; k < kept; ++k)
    if (const int i = int(threadIdx.x) + k * rowThreads; i < vectors)
      narrow::writeBytes<E4m3>(values[k], factor, m.q + first + i * n);
}

/// A row of any length, by vectors of n elements, which the row has a whole
/// number of.
template <class T, int n>
__global__ void __launch_bounds__(rowThreads)
    quantizeNormedLongRow(const __grid_constant__ NormedRows<T> rows,
                          const __grid_constant__ Matrix m) {
  __shared__ float room[32];
  startOverlapped();
  const int64_t first = int64_t(blockIdx.x) * m.columns;
  auto forColumns = [&](auto body) {
    for (int64_t i = int64_t(threadIdx.x) * n; i < m.columns;
         i += rowThreads * n)
      body(i, Vector<T, n>::load(rows.x + first + i));
  };
  float squares[1] = {0};
  forColumns([&](int64_t, const auto& values) {
    squares[0] = addSquares(squares[0], values);
  });
  sumAcrossRow(squares, room);
  const float rstd = rows.rstdOf(squares[0], m.columns);
  narrow::Most<T> most;
  forColumns([&](int64_t at, const auto& values) {
    most.see(rows.normed(values, rows.template weightAt<n>(at), rstd));
  });
  const float factor = __frcp_rn(narrow::rowScale<E4m3>(most.value(), m));
  forColumns([&](int64_t at, const auto& values) {
    narrow::writeBytes<E4m3>(
        rows.normed(values, rows.template weightAt<n>(at), rstd), factor,
        m.q + first + at);
  });
}

template <class T>
void launch(const device::CudaKernelArgs& args, const NormedRows<T>& rows,
            const Matrix& m) {
  constexpr int n = vectorLength<T>;
  const bool hasVectors =
      m.columns % n == 0 && areAligned(16, rows.x, rows.weight.data, m.q);
  const int64_t kept = ceilDivide(m.columns, n * rowThreads);
  auto* const kernel = !hasVectors ? &quantizeNormedLongRow<T, 1>
                       : kept <= 2 ? &quantizeNormedRow<T, 2>
                       : kept <= 4 ? &quantizeNormedRow<T, 4>
                                   : &quantizeNormedLongRow<T, n>;
  launchOverlapped(args.context, kernel, unsigned(m.rows), rowThreads, 0, rows,
                   m);
}

} // namespace

Status rmsnormQuantizeCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &q = args.outputs[0];
  Matrix m = {};
  m.q = q.as<uint8_t>();
  m.scale = args.outputs[1].as<float>();
  m.rows = q.shape[0];
  m.columns = q.shape[1];
  if (m.rows == 0 || m.columns == 0)
    return Status::ok();
  const double eps = ops::RmsNormQuantizeAttributes(args.op.attributes).eps;
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    launch<T>(args,
              {x.as<T>(), normWeight<T>(args, args.inputs[1]), float(eps)}, m);
  });
}

} // namespace reciperun::kernels
