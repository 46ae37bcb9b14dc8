// 1. A frame lives from the first to the last run of the schedule that uses a
//    value which its chunk keeps of the micro-batch.
// 2. Frames are allocated and released by best fit in the order of the runs:
// the
//    chunks of a stage have their most micro-batches in flight at different
//    times.
// 3. Frames of different sizes leave gaps that no other frame fits into. Where
//    they take less when all have the size of the largest, they do.

#include "compiler/passes/memory/Frames.h"

#include "compiler/passes/memory/FreeList.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace recipec::passes {
namespace {

struct ChunkFrame {
  int chunk = 0;
  int microBatch = 0;
  auto operator<=>(const ChunkFrame&) const = default;
};

/// The frames that a run is the first or the last one to use.
struct Run {
  std::vector<ChunkFrame> starting, ending;
};

/// The chunks whose kept values each function uses.
std::map<std::string, std::set<int>> chunksOf(const ir::Module& program) {
  std::map<std::string, std::set<int>> chunks;
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      for (const auto* list : {&op.operands, &op.results})
        for (ir::ValueId value : *list)
          if (value != ir::ValueId::none && program[value].keeper >= 0)
            chunks[function.name].insert(program[value].keeper);
  return chunks;
}

std::vector<Run> runsOf(const ir::Module& program) {
  std::map<std::string, std::set<int>> chunks = chunksOf(program);
  std::map<ChunkFrame, std::pair<size_t, size_t>> lives; // first and last run
  size_t count = 0;
  for (const ir::Schedule& schedule : program.schedules) {
    if (schedule.name != "train")
      continue;
    for (const ir::ScheduleStep& step : schedule.steps) {
      if (step.kind != ir::ScheduleStep::Kind::run)
        continue;
      for (int chunk : chunks[step.function])
        lives.try_emplace({chunk, step.microBatch}, count, count)
            .first->second.second = count;
      ++count;
    }
  }
  std::vector<Run> runs(count);
  for (const auto& [frame, life] : lives) {
    runs[life.first].starting.push_back(frame);
    runs[life.second].ending.push_back(frame);
  }
  return runs;
}

FrameArea place(const std::vector<Run>& runs,
                const std::vector<int64_t>& sizes) {
  FrameArea area;
  area.offsets.resize(sizes.size());
  FreeList space;
  for (const Run& run : runs) {
    for (const auto& [chunk, microBatch] : run.starting) {
      std::vector<int64_t>& offsets = area.offsets[size_t(chunk)];
      if (microBatch >= int(offsets.size()))
        offsets.resize(size_t(microBatch) + 1);
      offsets[size_t(microBatch)] = space.allocate(sizes[size_t(chunk)]);
    }
    for (const auto& [chunk, microBatch] : run.ending)
      space.release(area.offsets[size_t(chunk)][size_t(microBatch)],
                    sizes[size_t(chunk)]);
  }
  area.bytes = space.peak();
  return area;
}

/// Shortens a list to what it repeats; {0} for a chunk that keeps nothing.
void shorten(std::vector<int64_t>& offsets) {
  if (offsets.empty())
    offsets = {0};
  for (size_t size = 1; size < offsets.size(); ++size)
    if (std::equal(offsets.begin() + long(size), offsets.end(),
                   offsets.begin())) {
      offsets.resize(size);
      return;
    }
}

} // namespace

FrameArea placeFrames(const ir::Module& program,
                      const std::vector<int64_t>& sizes) {
  std::vector<Run> runs = runsOf(program);
  for (Run& run : runs)
    for (auto* frames : {&run.starting, &run.ending})
      std::erase_if(*frames, [&](const ChunkFrame& frame) {
        return frame.chunk >= int(sizes.size()) ||
               sizes[size_t(frame.chunk)] == 0;
      });
  const std::vector<int64_t> largest(sizes.size(), std::ranges::max(sizes));
  FrameArea area = place(runs, sizes), equal = place(runs, largest);
  if (equal.bytes < area.bytes)
    area = std::move(equal);
  std::ranges::for_each(area.offsets, shorten);
  return area;
}

} // namespace recipec::passes
