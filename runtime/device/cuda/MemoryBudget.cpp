// See MemoryBudget.h.

#include "runtime/device/cuda/MemoryBudget.h"

#include "runtime/plan/Plan.h"

#include <cstdio>

namespace reciperun::device {
namespace {

/// The driver's context, loaded kernels and the scratch: 0.6 GiB on an H200.
constexpr int64_t takenByOpening = int64_t(1) << 30;

/// `12.5 GiB`.
std::string gibibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", double(bytes) / (1 << 30));
  return text;
}

} // namespace

Status checkMemoryBudget(const MemoryBudget& room,
                         const plan::MemoryTable& memory) {
  const int64_t wanted = memory.arena + memory.library;
  if (wanted <= room.free + takenByOpening)
    return Status::ok();
  const std::string need = "the plan takes " + gibibytes(wanted) +
                           " of a GPU, " + gibibytes(memory.arena) +
                           " of it for its arena, and ";
  if (wanted > room.total)
    return Status::error(need + room.gpu + " has " + gibibytes(room.total) +
                         ": compile the recipe for this hardware");
  return Status::error(
      need + "of the " + gibibytes(room.total) + " of " + room.gpu + " " +
      gibibytes(room.free) +
      " are free; `nvidia-smi` shows which processes hold the rest");
}

} // namespace reciperun::device
