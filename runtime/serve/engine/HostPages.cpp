// See HostPages.h.

#include "runtime/serve/engine/HostPages.h"

#include <algorithm>
#include <utility>

namespace reciperun::serve {

HostPages::HostPages(const plan::Stage& stage, const exec::Executor& executor,
                     const memory::Arena& arena)
    : host(arena.hostBase()) {
  std::vector<std::pair<std::byte*, int64_t>> buffers; // and bytes of a page
  for (int buffer : plan::cachePages(stage))
    buffers.emplace_back(executor.tensor(buffer).as<std::byte>(),
                         plan::pageBytes(stage.buffers[size_t(buffer)]));
  std::ranges::sort(buffers);
  for (const auto& [pages, bytes] : buffers)
    add(pages, bytes);
}

/// Adds the buffer with the next address.
void HostPages::add(std::byte* pages, int64_t bytes) {
  pageBytes += bytes;
  if (!groups.empty() && groups.back().bytes == bytes) {
    Group& last = groups.back();
    if (last.buffers == 1)
      last.stride = pages - last.pages;
    if (pages - last.pages == last.buffers * last.stride) {
      ++last.buffers;
      return;
    }
  }
  groups.push_back({pages, 1, bytes, bytes});
}

Status HostPages::copy(const StepPlan& step, device::Device& device) const {
  if (groups.empty())
    return Status::ok();
  RECIPERUN_TRY(device.finishSaves());
  RECIPERUN_TRY(device.copy(rowsOf(step.copies)));
  if (step.saves.empty())
    return Status::ok();
  return device.startSaves(rowsOf(step.saves));
}

std::vector<device::StridedCopy>
HostPages::rowsOf(std::span<const PageCopy> copies) const {
  std::vector<device::StridedCopy> rows;
  rows.reserve(copies.size() * groups.size());
  for (const PageCopy& each : copies) {
    std::byte* onHost = host + each.hostPage * pageBytes;
    for (const Group& group : groups) {
      device::StridedCopy& copy = rows.emplace_back();
      copy.bytes = group.bytes;
      copy.rows = group.buffers;
      std::byte* const onDevice = group.pages + each.page * group.bytes;
      copy.to = each.isToHost ? onHost : onDevice;
      copy.toStride = each.isToHost ? group.bytes : group.stride;
      copy.from = each.isToHost ? onDevice : onHost;
      copy.fromStride = each.isToHost ? group.stride : group.bytes;
      onHost += group.bytes * group.buffers;
    }
  }
  return rows;
}

} // namespace reciperun::serve
