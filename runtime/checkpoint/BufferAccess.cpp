// Accesses buffers in an arena by device copies.

#include "runtime/checkpoint/BufferAccess.h"

namespace reciperun::checkpoint {

std::byte* ArenaBuffers::address(int buffer) const {
  return static_cast<std::byte*>(arena.address(stage.buffers[size_t(buffer)],
                                               /*copy=*/0, plan.mesh, rank));
}

Status ArenaBuffers::write(int buffer, int64_t offset,
                           std::span<const std::byte> data) {
  return device.upload(address(buffer) + offset, data);
}

Status ArenaBuffers::read(int buffer, int64_t offset,
                          std::span<std::byte> data) const {
  return device.download(data, address(buffer) + offset);
}

} // namespace reciperun::checkpoint
