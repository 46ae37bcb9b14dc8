// The arena: all memory that a plan's buffers live in, taken in one allocation;
// and where some of them wait on the host, a second one for these.
//
// Its size is the plan's `memory.arena`, to the byte, that of the second
// `memory.offloaded`. Pages are touched at
// once, so that a machine with too little memory fails here and not in mid-run.

#ifndef RECIPERUN_MEMORY_ARENA_H
#define RECIPERUN_MEMORY_ARENA_H

#include "runtime/base/Status.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace reciperun::memory {

class Arena {
public:
  /// Takes `bytes` zeroed bytes, and `hostBytes` on the host. The Status of a
  /// failure names them.
  static Expected<Arena> allocate(int64_t bytes, int64_t hostBytes = 0);

  Arena() = default;
  /// Memory of a device as an arena; `release` gives it back. The host may not
  /// be able to address it.
  Arena(std::byte* data, int64_t bytes, std::function<void()> release);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  /// Gives the buffers on the host their arena.
  void setHost(Arena memory) {
    host = std::make_unique<Arena>(std::move(memory));
  }

  /// The bytes that were asked for, and that buffers may lie in.
  int64_t bytes() const { return size; }
  std::byte* base() const { return data; }

  /// Where a buffer's data starts for the micro-batch in `slot` on a rank: its
  /// offset, plus the slot's stride, plus the rank's own part of a buffer that
  /// is sharded in place.
  void* address(const plan::Buffer& buffer, int slot, const plan::Mesh& mesh,
                int rank) const;

private:
  std::byte* data = nullptr;
  int64_t size = 0;
  std::function<void()> release; // none where there is nothing to give back
  std::unique_ptr<Arena> host;
};

} // namespace reciperun::memory

#endif // RECIPERUN_MEMORY_ARENA_H
