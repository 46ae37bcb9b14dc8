// Access of import and export to a rank's parameters.
//
// They copy through this interface instead of pointers, so that the parameters
// may be in device memory. ArenaParameters accesses a device's arena.

#ifndef RECIPERUN_CHECKPOINT_PARAMETERACCESS_H
#define RECIPERUN_CHECKPOINT_PARAMETERACCESS_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/StateShards.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace reciperun::checkpoint {

/// Selects one of a parameter's buffers.
enum class Content {
  value,      // in the compute type, or quantized
  scale,      // f32, of a quantized value
  inputScale, // f32, of the columns of a quantized value
  gradient,   // f32, or f64 when the compute type is f64
};

/// This rank's shards of the parameters, as bytes of the row-major local shard.
/// When the rank only stores a run of a value (valueParts), only that run is
/// accessible.
class ParameterAccess {
public:
  virtual ~ParameterAccess() = default;
  /// Copies into / out of a parameter's shard from byte `offset` on.
  virtual Status write(int parameter, Content content, int64_t offset,
                       std::span<const std::byte> data) = 0;
  virtual Status read(int parameter, Content content, int64_t offset,
                      std::span<std::byte> data) const = 0;
};

/// Lets several threads use an access, one at a time.
class LockedAccess : public ParameterAccess {
public:
  /// `access` must outlive the object.
  explicit LockedAccess(ParameterAccess& access) : access(access) {}

  Status write(int parameter, Content content, int64_t offset,
               std::span<const std::byte> data) override {
    const std::lock_guard lock(mutex);
    return access.write(parameter, content, offset, data);
  }
  Status read(int parameter, Content content, int64_t offset,
              std::span<std::byte> data) const override {
    const std::lock_guard lock(mutex);
    return access.read(parameter, content, offset, data);
  }

private:
  ParameterAccess& access;
  mutable std::mutex mutex;
};

/// Parameters in an arena.
class ArenaParameters : public ParameterAccess {
public:
  /// `arena` is the device address of the plan's offset 0. All arguments must
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
  /// The address of `bytes` bytes of a parameter's shard, from byte `offset`
  /// on.
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
