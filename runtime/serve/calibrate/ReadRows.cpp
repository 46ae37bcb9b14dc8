// See ReadRows.h.

#include "runtime/serve/calibrate/ReadRows.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/device/HostCopy.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace reciperun::serve {

Status readRows(device::Device& device, const device::Tensor& x,
                int64_t channels, int64_t first, int64_t count,
                std::vector<float>& values) {
  const int64_t shape[] = {count, channels};
  values.resize(size_t(count * channels));
  const auto type =
      checkpoint::findElementType(checkpoint::safetensorsName(x.type));
  assert(type && "activations are of a floating-point type");
  std::byte* const begin =
      x.as<std::byte>() + first * channels * plan::byteSize(x.type);
  RECIPERUN_TRY(device::readPieces(
      device, {begin, x.type, shape},
      [&](const device::Tensor& piece, int64_t at) {
        checkpoint::convertElements(
            *type, piece.as<const std::byte>(), plan::DType::f32,
            reinterpret_cast<std::byte*>(values.data() + at), piece.elements());
        return Status::ok();
      }));
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); }))
    return Status::error("it holds NaN or infinity: the model or its weights "
                         "are damaged");
  return Status::ok();
}

} // namespace reciperun::serve
