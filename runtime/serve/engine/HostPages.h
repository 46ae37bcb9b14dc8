// The copies of a rank's pages between its cache and its host.

#ifndef RECIPERUN_SERVE_ENGINE_HOSTPAGES_H
#define RECIPERUN_SERVE_ENGINE_HOSTPAGES_H

#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/StepPlan.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// A page of the host has the page's bytes of each buffer of the cache, one
/// after another. The pages fill the host's arena. Buffers that begin at equal
/// distances are copied together, which is three times as fast on a GPU as a
/// copy each.
class HostPages {
public:
  /// Of a plan without pages on the host: makes no copies.
  HostPages() = default;
  HostPages(const plan::Stage& stage, const exec::Executor& executor,
            const memory::Arena& arena);

  /// Enqueues the copies before a step and starts those beside it, which the
  /// copies before the next step wait for.
  Status copy(const StepPlan& step, device::Device& device) const;

private:
  /// Buffers of the cache that begin at equal distances.
  struct Group {
    std::byte* pages; // of the first buffer
    int64_t buffers;
    int64_t stride;
    int64_t bytes; // of a page in a buffer
  };

  void add(std::byte* pages, int64_t bytes);
  std::vector<device::StridedCopy>
  rowsOf(std::span<const PageCopy> copies) const;

  std::vector<Group> groups;
  int64_t pageBytes = 0; // of all buffers
  std::byte* host = nullptr;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_HOSTPAGES_H
