// Quantizes rows to the bytes that ranks exchange, and dequantizes them, on a
// GPU. A warp makes a block of 128 elements; each lane has four of them.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/quantize/QuantizeSource.cuh"
#include "runtime/sizes/NarrowRows.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using narrow::E4m3;
using sizes::NarrowRow;

constexpr int warps = 8, ofLane = 4;
static_assert(32 * ofLane == blockWidth);

/// Where rows lie: x [count, row.width] and bytes [count, row.bytes()].
struct NarrowRows {
  int64_t count;
  NarrowRow row;

  int64_t blocks() const { return count * row.blocks(); }
};

/// The block of this warp and the elements of this lane.
struct LanePlace {
  int64_t row, block, column;
  int elements; // 0 to 4 of them are within the row

  __device__ LanePlace(const NarrowRows& rows) {
    const int64_t number = int64_t(blockIdx.x) * warps + threadIdx.y,
                  across = (rows.row.width + blockWidth - 1) / blockWidth;
    row = number / across;
    block = number % across;
    column = block * blockWidth + int64_t(threadIdx.x) * ofLane;
    elements = row >= rows.count
                   ? 0
                   : int(min(max(rows.row.width - column, int64_t(0)),
                             int64_t(ofLane)));
  }
};

/// An offset in a row, computed as NarrowRow does.
struct RowBytes {
  int64_t scales, end, bytes;
  explicit RowBytes(const NarrowRow& row)
      : scales(row.scales()), end(row.end()), bytes(row.bytes()) {}
};

/// Loads up to four elements; the others are 0. With vectors a lane has all of
/// its elements or none.
template <class T, bool hasVectors>
__device__ void loadElements(const T* from, int elements,
                             float (&values)[ofLane]) {
  if (hasVectors && elements == ofLane)
    return narrow::widen(Vector<T, ofLane>::load(from), values);
#pragma unroll
  for (int e = 0; e < ofLane; ++e)
    values[e] = e < elements ? float(from[e]) : 0.0f;
}

template <class T, bool hasVectors>
__global__ void __launch_bounds__(32 * warps)
    quantizeRowBlocks(const __grid_constant__ NarrowRows rows,
                      const __grid_constant__ RowBytes at, const T* x,
                      uint8_t* bytes) {
  const LanePlace place(rows);
  if (place.row >= rows.count)
    return; // the whole warp
  float values[ofLane];
  loadElements<T, hasVectors>(x + place.row * rows.row.width + place.column,
                              place.elements, values);
  float most = 0;
#pragma unroll
  for (float value : values)
    most = fmaxf(most, fabsf(value));
  const float scale = narrow::scaleOf<E4m3>(acrossLanes(most, 32, Larger()));
  const float factor = __frcp_rn(scale);
  uint8_t* const row = bytes + place.row * at.bytes;
  if (place.elements > 0)
    *reinterpret_cast<uint32_t*>(row + place.column) =
        narrow::fourBytes<E4m3>(values[0] * factor, values[1] * factor,
                                values[2] * factor, values[3] * factor);
  const int64_t ownScale = at.scales + 4 * place.block;
  if (threadIdx.x == 0)
    *reinterpret_cast<float*>(row + ownScale) = scale;
  // The warp of the last block clears what follows the scales.
  const int64_t behind = ownScale + 4 * int64_t(threadIdx.x);
  if (threadIdx.x > 0 && ownScale + 4 == at.end && behind < at.bytes)
    *reinterpret_cast<uint32_t*>(row + behind) = 0;
}

__device__ inline float fromE4m3(uint32_t word, int number) {
  const auto byte = __nv_fp8_storage_t(word >> 8 * number & 0xff);
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3)));
}

template <class T, bool hasVectors>
__global__ void __launch_bounds__(32 * warps)
    dequantizeRowBlocks(const __grid_constant__ NarrowRows rows,
                        const __grid_constant__ RowBytes at,
                        const uint8_t* bytes, T* x) {
  const LanePlace place(rows);
  if (place.elements == 0)
    return;
  const uint8_t* const row = bytes + place.row * at.bytes;
  const float scale =
      *reinterpret_cast<const float*>(row + at.scales + 4 * place.block);
  const uint32_t word = *reinterpret_cast<const uint32_t*>(row + place.column);
  float values[ofLane];
#pragma unroll
  for (int e = 0; e < ofLane; ++e)
    values[e] = fromE4m3(word, e) * scale;
  T* const to = x + place.row * rows.row.width + place.column;
  if (hasVectors && place.elements == ofLane)
    return rounded<T, ofLane>(values).store(to);
#pragma unroll
  for (int e = 0; e < ofLane; ++e)
    if (e < place.elements)
      to[e] = rounded<T>(values[e]);
}

/// Calls body(rows, vectors): `vectors` says whether lanes can access four
/// elements of x at once.
template <class T, class Body> Status launchRows(const Tensor& x, Body body) {
  const int64_t width = x.shape.back();
  const NarrowRows rows{x.elements() / width, {width}};
  if (rows.count == 0)
    return Status::ok();
  if (width % ofLane == 0 && areAligned(sizeof(T) * ofLane, x.as<T>()))
    body(rows, std::true_type());
  else
    body(rows, std::false_type());
  return device::launchStatus();
}

unsigned gridOf(const NarrowRows& rows) {
  return unsigned(ceilDivide(rows.blocks(), warps));
}

} // namespace

Status quantizeRowsCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &bytes = args.outputs[0];
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    return launchRows<T>(x, [&](const NarrowRows& rows, auto vectors) {
      quantizeRowBlocks<T, vectors.value>
          <<<gridOf(rows), dim3(32, warps), 0, args.context.stream()>>>(
              rows, RowBytes(rows.row), x.as<T>(), bytes.as<uint8_t>());
    });
  });
}

Status dequantizeRowsCudaKernel(const CudaKernelArgs& args) {
  const Tensor &bytes = args.inputs[0], &x = args.outputs[0];
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    return launchRows<T>(x, [&](const NarrowRows& rows, auto vectors) {
      dequantizeRowBlocks<T, vectors.value>
          <<<gridOf(rows), dim3(32, warps), 0, args.context.stream()>>>(
              rows, RowBytes(rows.row), bytes.as<uint8_t>(), x.as<T>());
    });
  });
}

} // namespace reciperun::kernels
