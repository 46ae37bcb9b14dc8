// Memory tables as text.

#include "compiler/driver/MemoryReport.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace recipec::driver {

std::vector<MemoryRow> memoryRows(const cost::MemoryTable& memory) {
  std::vector<MemoryRow> rows = {{"parameters", memory.parameters, 'P'},
                                 {"gradients", memory.gradients, 'G'},
                                 {"optimizer", memory.optimizer, 'O'}};
  if (memory.cache > 0)
    rows.push_back({"cache", memory.cache, 'C'});
  rows.insert(rows.end(), {{"activations", memory.activations, 'A'},
                           {"workspace", memory.workspace, 'W'},
                           {"library", memory.library, 'L'}});
  if (memory.host > 0)
    rows.push_back({"host", memory.host, 'H'});
  if (memory.offloaded > 0)
    rows.push_back({"offloaded", memory.offloaded, 'F'});
  if (memory.draft > 0)
    rows.push_back({"draft", memory.draft, 'D'});
  return rows;
}

std::string largestCategories(const cost::MemoryTable& memory,
                              const std::vector<std::string_view>& skipped) {
  std::vector<MemoryRow> rows = memoryRows(memory);
  // Host memory counts towards the total only on CPU devices.
  const bool countsHost =
      memory.total != memory.arena + memory.library + memory.draft;
  std::erase_if(rows, [&](const MemoryRow& row) {
    const bool isHost = row.name == "host" || row.name == "offloaded";
    return (isHost && !countsHost) ||
           std::find(skipped.begin(), skipped.end(), row.name) != skipped.end();
  });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const MemoryRow& left, const MemoryRow& right) {
                     return left.bytes > right.bytes;
                   });
  std::string text;
  for (const MemoryRow& row : rows)
    if (row.bytes > 0 && row.bytes * 20 >= memory.total)
      text += (text.empty() ? "" : ", ") + std::string(row.name) + " " +
              formatBytes(row.bytes);
  return text;
}

std::vector<LargestBuffer> largestBuffers(const ir::Module& program,
                                          size_t count) {
  // The members of regions are listed instead of the regions.
  std::set<ir::ValueId> regions;
  for (const ir::Region& region : program.regions) {
    if (region.param != ir::ValueId::none)
      regions.insert({region.param, region.paramPart});
    if (region.gradient != ir::ValueId::none)
      regions.insert({region.gradient, region.gradientPart});
    if (region.narrow != ir::ValueId::none)
      regions.insert({region.narrow, region.narrowPart});
  }
  std::vector<LargestBuffer> buffers;
  for (const ir::Placement& placement : program.placements)
    if (!regions.count(placement.value))
      buffers.push_back({placement.value, program[placement.value].name,
                         placement.category, placement.bytes});
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const LargestBuffer& left, const LargestBuffer& right) {
                     return left.bytes > right.bytes;
                   });
  buffers.resize(std::min(count, buffers.size()));
  return buffers;
}

std::string describeBuffer(const ir::Module& program,
                           const LargestBuffer& buffer) {
  for (const ir::Region& region : program.regions) {
    const std::vector<ir::ParamId>& params = region.params;
    const std::string of =
        params.size() == 1
            ? " of `" + program[params[0]].name + "`"
            : " of " + std::to_string(params.size()) + " tensors";
    if (buffer.value == region.master)
      return "the master weights" + of;
    if (buffer.value == region.momentM)
      return "the first moments" + of;
    if (buffer.value == region.momentV)
      return "the second moments" + of;
    if (buffer.value == region.narrowPart)
      return "the fp8 weights" + of;
    if (buffer.name.starts_with("region." + region.name + "."))
      return "the gradients" + of;
  }
  return "`" + buffer.name + "`";
}

std::string memoryTableText(const cost::MemoryTable& memory) {
  std::string text;
  auto line = [&](std::string_view name, int64_t bytes) {
    text += llvm::formatv("  {0,-12} {1,16}  {2,10}\n", name, bytes,
                          formatBytes(bytes));
  };
  for (const MemoryRow& row : memoryRows(memory))
    line(row.name, row.bytes);
  line("total", memory.total);
  line("capacity", memory.capacity);
  return text;
}

} // namespace recipec::driver
