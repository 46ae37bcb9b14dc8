// Parameters in an arena, at the addresses of the plan's buffers.

#include "runtime/checkpoint/ParameterAccess.h"

#include "runtime/plan/Mesh.h"

#include <cassert>

namespace reciperun::checkpoint {

std::byte* ArenaParameters::address(int parameter, Content content,
                                    int64_t offset, size_t bytes) const {
  const StateShard& part = values[size_t(parameter)];
  bool isValue = content == Content::value;
  const plan::Holding holding = plan::holdingOf(stage, parameter);
  int number = isValue                          ? part.buffer
               : content == Content::scale      ? holding.scale
               : content == Content::inputScale ? holding.inScale
                                                : holding.gradient;
  assert(number >= 0 && "the parameter has no such buffer");
  const plan::Buffer& buffer = stage.buffers[size_t(number)];
  if (isValue) {
    int64_t size = plan::byteSize(buffer.dtype);
    offset -= part.first * size;
    assert(offset >= 0 && offset + int64_t(bytes) <= part.count * size &&
           "what another rank keeps");
    offset += part.element * size;
  }
  int64_t own = plan::coordinate(plan.mesh, rank, buffer.shardAxis);
  return arena + buffer.offset + own * buffer.shardStride + offset;
}

Status ArenaParameters::write(int parameter, Content content, int64_t offset,
                              std::span<const std::byte> data) {
  return device.upload(address(parameter, content, offset, data.size()), data);
}

Status ArenaParameters::read(int parameter, Content content, int64_t offset,
                             std::span<std::byte> data) const {
  return device.download(data,
                         address(parameter, content, offset, data.size()));
}

} // namespace reciperun::checkpoint
