// Transposes an fp8 matrix square by square, so that both sides access few
// pages at a time.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"

#include <algorithm>
#include <cassert>

namespace reciperun::kernels {
namespace {

constexpr int64_t side = 64; // of a square: a cache line

} // namespace

Status transposeKernel(const device::KernelArgs& args) {
  const device::Tensor &from = args.inputs[0], &to = args.outputs[0];
  assert(from.bytes() == from.elements() && "elements have 8 bits");
  const int64_t rows = from.shape[0], columns = from.shape[1];
  const auto* x = from.as<uint8_t>();
  auto* y = to.as<uint8_t>();
  device::parallelFor(
      args.context.threads(), (rows + side - 1) / side, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t top = begin * side; top < std::min(rows, end * side);
             top += side)
          for (int64_t left = 0; left < columns; left += side)
            for (int64_t j = left; j < std::min(columns, left + side); ++j)
              for (int64_t i = top; i < std::min(rows, top + side); ++i)
                y[j * rows + i] = x[i * columns + j];
      });
  return Status::ok();
}

} // namespace reciperun::kernels
