// The copies of a rank's pages between its cache and its host.

#ifndef RECIPERUN_SERVE_ENGINE_HOSTPAGES_H
#define RECIPERUN_SERVE_ENGINE_HOSTPAGES_H

#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/PageCache.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// A page of the host has the page's bytes of each buffer of the cache, one
/// after another. The pages fill the host's arena.
class HostPages {
public:
  /// Of a plan without pages on the host: makes no copies.
  HostPages() = default;
  HostPages(const plan::Stage& stage, const exec::Executor& executor,
            const memory::Arena& arena);

  /// Enqueues the copies, in their order and before later work of the device.
  Status copy(std::span<const PageCopy> copies, device::Device& device) const;

private:
  struct Part {
    std::byte* pages; // of a buffer
    int64_t bytes;    // of a page
  };

  std::vector<Part> parts;
  int64_t pageBytes = 0; // of all parts
  std::byte* host = nullptr;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_HOSTPAGES_H
