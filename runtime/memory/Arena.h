// The arena: all memory of a plan's buffers in one allocation, and a second one
// for buffers that are offloaded to the host.
//
// The sizes are exactly the plan's `memory.arena` and `memory.offloaded`. Pages
// are touched at once, so that a machine with too little memory fails here and
// not in mid-run.

#ifndef RECIPERUN_MEMORY_ARENA_H
#define RECIPERUN_MEMORY_ARENA_H

#include "runtime/base/Status.h"
#include "runtime/plan/Mesh.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace reciperun::plan {
struct Buffer;
} // namespace reciperun::plan

namespace reciperun::memory {

class Arena {
public:
  /// Allocates `bytes` zeroed bytes, and `hostBytes` on the host. The Status of
  /// a failure names the sizes.
  static Expected<Arena> allocate(int64_t bytes, int64_t hostBytes = 0);

  Arena() = default;
  /// Wraps device memory as an arena; `release` frees it. The host may not be
  /// able to address it.
  Arena(std::byte* data, int64_t bytes, std::function<void()> release);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  /// Sets the arena for buffers in host memory.
  void setHost(Arena memory) {
    host = std::make_unique<Arena>(std::move(memory));
  }

  /// The size requested, which is usable by buffers.
  int64_t bytes() const { return size; }
  std::byte* base() const { return data; }
  /// The start of the arena for buffers in host memory; null without one.
  std::byte* hostBase() const { return host ? host->data : nullptr; }

  /// The address of a buffer's data on a rank: its offset, plus the offset of
  /// the rank's shard when the buffer is sharded in place, plus `copy`, the
  /// byte offset of a micro-batch's copy (plan::copyOffset).
  void* address(const plan::Buffer& buffer, int64_t copy,
                const plan::Mesh& mesh, int rank) const;

private:
  std::byte* data = nullptr;
  int64_t size = 0;
  std::function<void()> release; // empty when there is nothing to free
  std::unique_ptr<Arena> host;
};

} // namespace reciperun::memory

#endif // RECIPERUN_MEMORY_ARENA_H
