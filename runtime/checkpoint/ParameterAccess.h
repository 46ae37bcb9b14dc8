// How import and export reach a rank's parameters.
//
// They copy through this interface rather than through pointers, so that the
// memory may be a device's. ArenaParameters is the access to a device's arena.

#ifndef RECIPERUN_CHECKPOINT_PARAMETERACCESS_H
#define RECIPERUN_CHECKPOINT_PARAMETERACCESS_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/StateShards.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::checkpoint {

/// Which of a parameter's buffers is meant.
enum class Content {
  value,    // in the compute type
  gradient, // f32, or f64 where the compute type is
};

/// This rank's shards of the parameters, as bytes of the row-major local shard.
/// Where the rank keeps a run of a value alone (valueParts), it is accessed
/// within that.
class ParameterAccess {
public:
  virtual ~ParameterAccess() = default;
  /// Copies into / out of a parameter's shard from byte `offset` on.
  virtual Status write(int parameter, Content content, int64_t offset,
                       std::span<const std::byte> data) = 0;
  virtual Status read(int parameter, Content content, int64_t offset,
                      std::span<std::byte> data) const = 0;
};

/// Parameters in an arena.
class ArenaParameters : public ParameterAccess {
public:
  /// `arena` is the device's address of the plan's offset 0. All arguments
  /// outlive the object.
  ArenaParameters(const plan::Plan& plan, int rank, std::byte* arena,
                  device::Device& device)
      : plan(plan), stage(plan::stageOf(plan, rank)), rank(rank), arena(arena),
        device(device), values(valueParts(plan, rank)) {}

  Status write(int parameter, Content content, int64_t offset,
               std::span<const std::byte> data) override;
  Status read(int parameter, Content content, int64_t offset,
              std::span<std::byte> data) const override;

private:
  /// Of `bytes` bytes of a parameter's shard, from byte `offset` on.
  std::byte* address(int parameter, Content content, int64_t offset,
                     size_t bytes) const;

  const plan::Plan& plan;
  const plan::Stage& stage;
  int rank;
  std::byte* arena;
  device::Device& device;
  std::vector<StateShard> values; // by parameter
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_PARAMETERACCESS_H
