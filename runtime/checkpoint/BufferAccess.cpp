// Buffers in an arena that the host can address.

#include "runtime/checkpoint/BufferAccess.h"

#include <cstring>

namespace reciperun::checkpoint {

std::byte* ArenaBuffers::address(int buffer) const {
  return static_cast<std::byte*>(
      arena.address(plan.buffers[size_t(buffer)], /*slot=*/0, plan.mesh, rank));
}

Status ArenaBuffers::write(int buffer, int64_t offset,
                           std::span<const std::byte> data) {
  std::memcpy(address(buffer) + offset, data.data(), data.size());
  return Status::ok();
}

Status ArenaBuffers::read(int buffer, int64_t offset,
                          std::span<std::byte> data) const {
  std::memcpy(data.data(), address(buffer) + offset, data.size());
  return Status::ok();
}

} // namespace reciperun::checkpoint
