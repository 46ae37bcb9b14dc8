// Parameters in host memory, addressed as the plan's buffers say.

#include "runtime/checkpoint/ParameterAccess.h"

#include "runtime/plan/Mesh.h"

#include <cassert>
#include <cstring>

namespace reciperun::checkpoint {

std::byte* ArenaParameters::address(int parameter, Content content) const {
  const plan::Parameter& described = plan.parameters[size_t(parameter)];
  int number = content == Content::value ? described.value : described.gradient;
  assert(number >= 0 && "the parameter has no such buffer");
  const plan::Buffer& buffer = plan.buffers[size_t(number)];
  int64_t own = plan::coordinate(plan.mesh, rank, buffer.shardAxis);
  return arena + buffer.offset + own * buffer.shardStride;
}

Status ArenaParameters::write(int parameter, Content content, int64_t offset,
                              std::span<const std::byte> data) {
  std::memcpy(address(parameter, content) + offset, data.data(), data.size());
  return Status::ok();
}

Status ArenaParameters::read(int parameter, Content content, int64_t offset,
                             std::span<std::byte> data) const {
  std::memcpy(data.data(), address(parameter, content) + offset, data.size());
  return Status::ok();
}

} // namespace reciperun::checkpoint
