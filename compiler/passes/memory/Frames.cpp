// 1. A frame lives from the first to the last step of the schedule that
//    receives or uses one of its values: those that a chunk keeps of a
//    micro-batch.
// 2. Allocate and release the frames by best fit in the order of the steps.
//    This saves memory because the chunks of a stage have their most
//    micro-batches in flight at different times.
// 3. Frames of different sizes leave gaps that no other frame fits into. If the
//    area is smaller when all frames have the size of the largest one, use
//    that.
// 4. A device records a function once for each offset, and offsets that best
//    fit chooses rarely repeat. If a chunk has more than `mostOffsets` offsets,
//    the offsets are therefore made periodic: micro-batches with the same
//    remainder modulo the period have the same offset. The period is the
//    smallest of twice the number of stages, its double and so on whose frames
//    of the same remainder are never alive together. Each offset is the lowest
//    one at which a frame does not overlap any frame that is alive at the same
//    time. This takes somewhat more memory (one frame on the first stage).

#include "compiler/passes/memory/Frames.h"

#include "compiler/passes/memory/FreeList.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace recipec::passes {
namespace {

constexpr size_t mostOffsets = 64;

struct ChunkFrame {
  int chunk = 0;
  int microBatch = 0;
};

/// The frames whose first use, or whose last use, is this step.
struct Step {
  std::vector<ChunkFrame> starting, ending;
};

/// The uses of frames of one kind by the steps of the schedule `train`.
class FrameUses {
public:
  FrameUses(const ir::Module& program, FrameKind kind)
      : program(program), kind(kind) {
    for (const ir::Function& function : program.functions)
      for (const ir::Op& op : function.ops)
        for (const auto* list : {&op.operands, &op.results})
          for (ir::ValueId value : *list)
            if (isKept(value))
              chunksOf[function.name].insert(program[value].frameChunk);
  }

  std::vector<Step> steps() {
    size_t count = 0;
    for (const ir::Schedule& schedule : program.schedules)
      if (schedule.name == "train")
        for (const ir::ScheduleStep& step : schedule.steps)
          add(step, count++);
    std::vector<Step> result(count);
    for (size_t chunk = 0; chunk < lives.size(); ++chunk)
      for (size_t i = 0; i < lives[chunk].size(); ++i)
        if (const auto& life = lives[chunk][i]) {
          const ChunkFrame frame = {int(chunk), int(i)};
          result[life->first].starting.push_back(frame);
          result[life->last].ending.push_back(frame);
        }
    return result;
  }

private:
  /// The first and the last step that use a frame.
  struct FrameLife {
    size_t first = 0, last = 0;
  };

  bool isKept(ir::ValueId value) const {
    return value != ir::ValueId::none && program[value].frameChunk >= 0 &&
           frameKindOf(program[value]) == kind;
  }

  void add(const ir::ScheduleStep& step, size_t number) {
    if (step.kind == ir::ScheduleStep::Kind::run)
      for (int chunk : chunksOf[step.function])
        use({chunk, step.microBatch}, number);
    if (step.transfer < 0)
      return;
    const ir::ValueId value = program.transfers[size_t(step.transfer)].value;
    if (isKept(value))
      use({program[value].frameChunk, step.microBatch}, number);
  }

  void use(const ChunkFrame& frame, size_t number) {
    const auto chunk = size_t(frame.chunk), i = size_t(frame.microBatch);
    lives.resize(std::max(lives.size(), chunk + 1));
    lives[chunk].resize(std::max(lives[chunk].size(), i + 1));
    std::optional<FrameLife>& life = lives[chunk][i];
    if (!life)
      life = {number, number};
    life->last = number;
  }

  const ir::Module& program;
  FrameKind kind;
  /// By function: the chunks whose frames it uses.
  std::map<std::string, std::set<int>> chunksOf;
  /// By chunk and micro-batch.
  std::vector<std::vector<std::optional<FrameLife>>> lives;
};

FrameArea place(const std::vector<Step>& steps,
                const std::vector<int64_t>& sizes) {
  FrameArea area;
  area.offsets.resize(sizes.size());
  FreeList space;
  for (const Step& step : steps) {
    for (const auto& [chunk, microBatch] : step.starting) {
      std::vector<int64_t>& offsets = area.offsets[size_t(chunk)];
      if (microBatch >= int(offsets.size()))
        offsets.resize(size_t(microBatch) + 1);
      offsets[size_t(microBatch)] = space.allocate(sizes[size_t(chunk)]);
    }
    for (const auto& [chunk, microBatch] : step.ending)
      space.release(area.offsets[size_t(chunk)][size_t(microBatch)],
                    sizes[size_t(chunk)]);
  }
  area.bytes = space.peak();
  return area;
}

/// The frames of a schedule with periodic offsets: the frames of a chunk whose
/// micro-batches have the same remainder modulo `period` count as one.
class PeriodicFrames {
public:
  PeriodicFrames(const std::vector<Step>& steps, size_t chunks, int period)
      : period(size_t(period)), count(chunks * size_t(period)), isAlive(count),
        isPlaced(count), areNeighbours(count * count) {
    std::vector<size_t> alive;
    for (const Step& step : steps) {
      for (const ChunkFrame& each : step.starting)
        start(numberOf(each), alive);
      for (const ChunkFrame& each : step.ending) {
        isAlive[numberOf(each)] = false;
        std::erase(alive, numberOf(each));
      }
    }
  }

  /// Whether no two frames that count as one are alive at once.
  bool areApart() const { return !hasCollision; }

  FrameArea place(const std::vector<int64_t>& sizes) const {
    FrameArea area;
    area.offsets.resize(sizes.size());
    std::vector<Block> blocks;
    blocks.reserve(inOrder.size());
    for (size_t frame : inOrder) {
      const size_t chunk = frame / period;
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (const Block& other : blocks)
        if (areNeighbours[frame * count + other.frame])
          taken.emplace_back(other.begin, other.end);
      std::ranges::sort(taken);
      const int64_t begin = firstGap(taken, 0, sizes[chunk]);
      blocks.push_back({frame, begin, begin + sizes[chunk]});
      area.bytes = std::max(area.bytes, begin + sizes[chunk]);
      area.offsets[chunk].resize(period);
      area.offsets[chunk][frame % period] = begin;
    }
    return area;
  }

private:
  /// The bytes of the area that a frame occupies.
  struct Block {
    size_t frame;
    int64_t begin, end;
  };

  size_t numberOf(const ChunkFrame& frame) const {
    return size_t(frame.chunk) * period + size_t(frame.microBatch) % period;
  }

  void start(size_t frame, std::vector<size_t>& alive) {
    hasCollision |= isAlive[frame];
    if (!isPlaced[frame])
      inOrder.push_back(frame);
    for (size_t other : alive)
      areNeighbours[frame * count + other] =
          areNeighbours[other * count + frame] = true;
    alive.push_back(frame);
    isAlive[frame] = isPlaced[frame] = true;
  }

  size_t period, count;
  bool hasCollision = false;
  std::vector<size_t> inOrder; // by the step of their first use
  std::vector<bool> isAlive, isPlaced;
  /// For each pair of frames: whether both are alive at the same time.
  std::vector<bool> areNeighbours;
};

/// Shortens a list to its period; {0} for a chunk that keeps nothing.
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

/// The length of the longest list.
size_t countOffsets(const FrameArea& area) {
  size_t most = 0;
  for (const std::vector<int64_t>& offsets : area.offsets)
    most = std::max(most, offsets.size());
  return most;
}

} // namespace

FrameKind frameKindOf(const ir::Value& value) {
  if (value.onHost)
    return FrameKind::onHost;
  return value.kind == ir::ValueKind::received ? FrameKind::received
                                               : FrameKind::computed;
}

FrameArea placeFrames(const ir::Module& program, FrameKind kind,
                      const std::vector<int64_t>& sizes) {
  const std::vector<Step> steps = FrameUses(program, kind).steps();
  const std::vector<int64_t> largest(sizes.size(), std::ranges::max(sizes));
  FrameArea area = place(steps, sizes), equal = place(steps, largest);
  if (equal.bytes < area.bytes)
    area = std::move(equal);
  std::ranges::for_each(area.offsets, shorten);
  for (int period = 2 * program.stages; countOffsets(area) > mostOffsets;
       period *= 2) {
    const PeriodicFrames frames(steps, sizes.size(), period);
    if (!frames.areApart())
      continue;
    FrameArea periodic = frames.place(sizes), same = frames.place(largest);
    if (same.bytes < periodic.bytes)
      periodic = std::move(same);
    std::ranges::for_each(periodic.offsets, shorten);
    return periodic;
  }
  return area;
}

} // namespace recipec::passes
