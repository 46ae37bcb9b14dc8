// Access of checkpoints to a rank's buffers.
//
// Checkpoints copy through this interface instead of pointers, so that the
// buffers may be in device memory. ArenaBuffers accesses a device's arena.

#ifndef RECIPERUN_CHECKPOINT_BUFFERACCESS_H
#define RECIPERUN_CHECKPOINT_BUFFERACCESS_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace reciperun::checkpoint {

class BufferAccess {
public:
  virtual ~BufferAccess() = default;
  /// Copies into / out of a buffer of the plan from byte `offset` on.
  virtual Status write(int buffer, int64_t offset,
                       std::span<const std::byte> data) = 0;
  virtual Status read(int buffer, int64_t offset,
                      std::span<std::byte> data) const = 0;
};

class ArenaBuffers : public BufferAccess {
public:
  /// The arguments must outlive the object.
  ArenaBuffers(const plan::Plan& plan, int rank, const memory::Arena& arena,
               device::Device& device)
      : plan(plan), stage(plan::stageOf(plan, rank)), rank(rank), arena(arena),
        device(device) {}

  Status write(int buffer, int64_t offset,
               std::span<const std::byte> data) override;
  Status read(int buffer, int64_t offset,
              std::span<std::byte> data) const override;

private:
  std::byte* address(int buffer) const;

  const plan::Plan& plan;
  const plan::Stage& stage;
  int rank;
  const memory::Arena& arena;
  device::Device& device;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_BUFFERACCESS_H
