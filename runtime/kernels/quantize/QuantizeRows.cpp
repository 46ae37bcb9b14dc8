// Quantizes rows to the bytes that ranks exchange, and dequantizes them.
//
//   1. Find the largest magnitude of each block of 128 elements, and its scale.
//   2. Multiply the elements by the scale's inverse, and round them.
// Back: multiply by the scale and round to the type of x.

#include "runtime/kernels/quantize/Quantize.h"

#include "runtime/device/Float8.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/sizes/NarrowRows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace reciperun::kernels {
namespace {

using device::f8e4m3;
using device::KernelArgs;
using device::Tensor;
using sizes::NarrowRow;

/// Below this number of rows a second thread costs more than it saves.
constexpr int64_t rowGrain = 4;

template <class T>
void quantizeRow(const T* x, const NarrowRow& row, std::byte* bytes) {
  std::fill_n(bytes, row.bytes(), std::byte());
  auto* q = reinterpret_cast<f8e4m3*>(bytes);
  for (int64_t block = 0; block < row.blocks(); ++block) {
    const int64_t begin = block * blockWidth,
                  end = std::min(row.width, begin + blockWidth);
    float most = 0;
    for (int64_t i = begin; i < end; ++i)
      most = std::fmax(most, std::fabs(float(x[i])));
    const float scale = scaleOf<f8e4m3>(most), factor = 1 / scale;
    for (int64_t i = begin; i < end; ++i)
      q[i] = f8e4m3(float(x[i]) * factor);
    std::memcpy(bytes + row.scales() + 4 * block, &scale, sizeof scale);
  }
}

template <class T>
void dequantizeRow(const std::byte* bytes, const NarrowRow& row, T* x) {
  static constexpr auto values = f8e4m3::table();
  for (int64_t block = 0; block < row.blocks(); ++block) {
    const int64_t begin = block * blockWidth,
                  end = std::min(row.width, begin + blockWidth);
    float scale;
    std::memcpy(&scale, bytes + row.scales() + 4 * block, sizeof scale);
    for (int64_t i = begin; i < end; ++i)
      x[i] = T(values[size_t(bytes[i])] * scale);
  }
}

/// Calls body(number) for each row of x in parallel.
template <class Body>
void forRows(const KernelArgs& args, const Tensor& x, Body body) {
  device::parallelFor(args.context.threads(), x.elements() / x.shape.back(),
                      rowGrain, [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i)
                          body(i);
                      });
}

} // namespace

Status quantizeRowsKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &rows = args.outputs[0];
  const NarrowRow row{x.shape.back()};
  return withType(args, x.type, [&]<class T>(Type<T>) {
    forRows(args, x, [&](int64_t i) {
      quantizeRow(x.as<T>() + i * row.width, row,
                  rows.as<std::byte>() + i * row.bytes());
    });
  });
}

Status dequantizeRowsKernel(const KernelArgs& args) {
  const Tensor &rows = args.inputs[0], &x = args.outputs[0];
  const NarrowRow row{x.shape.back()};
  return withType(args, x.type, [&]<class T>(Type<T>) {
    forRows(args, x, [&](int64_t i) {
      dequantizeRow(rows.as<std::byte>() + i * row.bytes(), row,
                    x.as<T>() + i * row.width);
    });
  });
}

} // namespace reciperun::kernels
