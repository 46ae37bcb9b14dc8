// See HostPages.h.

#include "runtime/serve/engine/HostPages.h"

#include <cassert>

namespace reciperun::serve {

HostPages::HostPages(const plan::Stage& stage, const exec::Executor& executor,
                     const memory::Arena& arena)
    : host(arena.hostBase()) {
  for (int buffer : plan::cachePages(stage)) {
    const int64_t bytes = plan::pageBytes(stage.buffers[size_t(buffer)]);
    parts.push_back({executor.tensor(buffer).as<std::byte>(), bytes});
    pageBytes += bytes;
  }
}

Status HostPages::copy(std::span<const PageCopy> copies,
                       device::Device& device) const {
  for (const PageCopy& each : copies) {
    assert(host && "the plan has pages on the host");
    std::byte* onHost = host + each.hostPage * pageBytes;
    for (const Part& part : parts) {
      std::byte* const onDevice = part.pages + each.page * part.bytes;
      RECIPERUN_TRY(each.isToHost ? device.copy(onHost, onDevice, part.bytes)
                                  : device.copy(onDevice, onHost, part.bytes));
      onHost += part.bytes;
    }
  }
  return Status::ok();
}

} // namespace reciperun::serve
