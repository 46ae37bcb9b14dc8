// Lays out the arena.
//
// 1. Parameters: each region is a flat buffer with its members at their
//    offsets, or only the rank's shard of it. Other parameters follow, then
//    gradients, then optimizer state. Then the serving cache: pages and states.
// 2. Activations: inputs and scalars, which live through the step; values with
//    slots, one copy per micro-batch in flight; frames (Frames.h); then the
//    timelines (Lifetimes.h). Each timeline is planned independently in the
//    same space by best fit: an op's results take a free block, and after the
//    op the values that are not used again release theirs.
// 3. One workspace, which all ops share. Its content is undefined between ops,
//    so it may overlap activations that are not alive at an op that uses it. It
//    gets the lowest address at which it overlaps no others.
//
// Host values are placed in the same way, in an arena of their own. Every
// placement starts at a multiple of bufferAlignment and owns the bytes up to
// the next one, so the categories add up to the arena exactly.

#include "compiler/passes/memory/PlanMemory.h"

#include "compiler/cost/Workspace.h"
#include "compiler/passes/ValueNames.h"
#include "compiler/passes/memory/Frames.h"
#include "compiler/passes/memory/FreeList.h"
#include "compiler/passes/memory/Lifetimes.h"

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Plan.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace recipec::passes {
namespace {

using ir::ValueId;
using reciperun::plan::bufferAlignment;

int64_t aligned(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

class MemoryPlanner {
public:
  explicit MemoryPlanner(ir::Module& program)
      : program(program), isPlaced(program.values.size()) {}

  void run();

private:
  void placeRegions(ValueId ir::Region::*whole, ValueId ir::Region::*part,
                    ValueId ir::Param::*member, const char* category);
  void placeMembers(const ir::Region& region, ValueId whole,
                    ValueId ir::Param::*member, const char* category);
  void placeNarrow(const ir::Region& region);
  void placeRest(ir::ValueKind kind, const char* category);
  void placeKept();
  void placeSlots();
  void placeChunks(FrameKind kind);
  void placeTimelines();
  void placeTimeline(const Timeline& timeline, FreeList& device,
                     FreeList& host);
  void sizeWorkspace();
  void avoidLives(const Timeline& timeline);
  void placeWorkspace();
  std::vector<bool> namedValues() const;

  /// The current size in bytes of the arena that a value belongs to.
  int64_t& arenaOf(ValueId value) {
    return program[value].onHost ? program.hostBytes : program.arenaBytes;
  }
  /// Places a value at the end of its arena.
  void append(ValueId value, const char* category);
  ir::Placement& place(ValueId value, int64_t offset, const char* category);

  ir::Module& program;
  std::vector<bool> isPlaced;
  std::vector<int64_t> offsets = std::vector<int64_t>(isPlaced.size());
  int64_t workspaceElements = 0;
  /// Where the timelines begin, and the blocks that are alive while an op uses
  /// the workspace: pairs of begin and end.
  int64_t timelinesBegin = 0;
  std::vector<std::pair<int64_t, int64_t>> besideWorkspace;
};

ir::Placement& MemoryPlanner::place(ValueId value, int64_t offset,
                                    const char* category) {
  assert(!isPlaced[size_t(value)] && "a value has one place");
  isPlaced[size_t(value)] = true;
  offsets[size_t(value)] = offset;
  ir::Placement placement;
  placement.value = value;
  placement.offset = offset;
  placement.bytes = ir::localBytes(program, value);
  placement.category = category;
  if (int slots = program[value].slots; slots > 1) {
    placement.slots = slots;
    placement.slotStride = aligned(placement.bytes);
  }
  return (program[value].onHost ? program.hostPlacements : program.placements)
      .emplace_back(std::move(placement));
}

void MemoryPlanner::append(ValueId value, const char* category) {
  if (value == ValueId::none || isPlaced[size_t(value)])
    return;
  int64_t& end = arenaOf(value);
  place(value, end, category);
  end += aligned(ir::localBytes(program, value)) *
         std::max(1, program[value].slots);
}

// ---- persistent values

/// Whether the results of an op after the first one are part of the serving
/// cache.
bool isKept(ir::OpKind kind) {
  return kind == ir::OpKind::AttentionPaged ||
         kind == ir::OpKind::CausalConvStep ||
         kind == ir::OpKind::StateScanStep;
}

void MemoryPlanner::placeRegions(ValueId ir::Region::*whole,
                                 ValueId ir::Region::*part,
                                 ValueId ir::Param::*member,
                                 const char* category) {
  for (const ir::Region& region : program.regions) {
    if (region.*whole == ValueId::none) {
      append(region.*part, category);
      continue;
    }
    append(region.*whole, category);
    // The offset of a shard depends on the rank's coordinate; the placement is
    // that of rank 0. A shard of another type than the full buffer is
    // recomputed in each step.
    bool isMade = program[region.*part].kind == ir::ValueKind::temporary;
    if (!isMade && !isPlaced[size_t(region.*part)])
      place(region.*part, offsets[size_t(region.*whole)], category);
    placeMembers(region, region.*whole, member, category);
  }
}

void MemoryPlanner::placeMembers(const ir::Region& region, ValueId whole,
                                 ValueId ir::Param::*member,
                                 const char* category) {
  int64_t size = ir::byteSize(program[whole].type);
  for (size_t i = 0; i < region.params.size(); ++i)
    place(program[region.params[i]].*member,
          offsets[size_t(whole)] + region.starts[i] * size, category);
}

/// Places the parameters that each rank keeps in fp8.
void MemoryPlanner::placeNarrow(const ir::Region& region) {
  append(region.narrow, "parameters");
  const int64_t offset = offsets[size_t(region.narrow)];
  place(region.narrowPart, offset, "parameters"); // the offset of rank 0
  for (size_t i = 0; i < region.params.size(); ++i)
    place(region.narrowParams[i], offset + region.starts[i], "parameters");
}

void MemoryPlanner::placeRest(ir::ValueKind kind, const char* category) {
  std::vector<bool> isNamed = namedValues();
  for (size_t i = 0; i < program.values.size(); ++i)
    if (isNamed[i] && program.values[i].kind == kind)
      append(ValueId(i), category);
}

/// Places the serving cache: what later tokens of a sequence need. The keys of
/// all layers are adjacent, then the values, and so on: a page of all layers is
/// rows at equal distances, which a device copies at once.
void MemoryPlanner::placeKept() {
  bool hasMore = true;
  for (size_t i = 1; hasMore; ++i) {
    hasMore = false;
    for (const ir::Function& function : program.functions)
      for (const ir::Op& op : function.ops)
        if (isKept(op.kind) && i < op.results.size()) {
          append(op.results[i], "cache");
          hasMore = true;
        }
  }
}

void MemoryPlanner::placeSlots() {
  for (size_t i = 0; i < program.values.size(); ++i)
    if (program.values[i].slots > 0)
      append(ValueId(i), "activations");
}

std::vector<bool> MemoryPlanner::namedValues() const {
  std::vector<bool> isNamed(program.values.size());
  auto name = [&](ValueId value) {
    if (value != ValueId::none)
      isNamed[size_t(value)] = true;
  };
  for (const auto& [role, value] : program.bindings)
    name(value);
  for (const ir::Param& param : program.params)
    name(param.value);
  for (const ir::Function& function : program.functions) {
    for (const ir::Op& op : function.ops) {
      std::for_each(op.operands.begin(), op.operands.end(), name);
      std::for_each(op.results.begin(), op.results.end(), name);
    }
  }
  for (const ir::Region& region : program.regions)
    if (region.param == ValueId::none)
      for (ir::ParamId param : region.params)
        isNamed[size_t(program[param].value)] = false;
  return isNamed;
}

// ---- what chunks keep

/// Places the values of each chunk one after another, from the same address for
/// all chunks. The offset of a micro-batch's frame is added to their addresses.
void MemoryPlanner::placeChunks(FrameKind kind) {
  const bool onHost = kind == FrameKind::onHost;
  int64_t& end = onHost ? program.hostBytes : program.arenaBytes;
  std::vector<int64_t> sizes; // by chunk
  for (size_t i = 0; i < program.values.size(); ++i) {
    const ir::Value& value = program.values[i];
    if (value.frameChunk < 0 || frameKindOf(value) != kind)
      continue;
    sizes.resize(std::max(sizes.size(), size_t(value.frameChunk) + 1));
    int64_t& bytes = sizes[size_t(value.frameChunk)];
    place(ValueId(i), end + bytes, "activations").frame =
        int(program.frames.size()) + value.frameChunk;
    bytes += aligned(ir::localBytes(program, ValueId(i)));
  }
  if (sizes.empty())
    return;
  FrameArea area = placeFrames(program, kind, sizes);
  for (size_t chunk = 0; chunk < sizes.size(); ++chunk)
    program.frames.push_back(
        {int(chunk), onHost, std::move(area.offsets[chunk])});
  end += area.bytes;
}

// ---- values of a step

void MemoryPlanner::placeTimelines() {
  timelinesBegin = program.arenaBytes;
  int64_t end = program.arenaBytes, hostEnd = program.hostBytes;
  for (const Timeline& timeline : timelines(program)) {
    FreeList space, hostSpace;
    placeTimeline(timeline, space, hostSpace);
    avoidLives(timeline);
    end = std::max(end, program.arenaBytes + space.peak());
    hostEnd = std::max(hostEnd, program.hostBytes + hostSpace.peak());
  }
  program.arenaBytes = end;
  program.hostBytes = hostEnd;
}

/// Places the lives after the current contents of the arenas.
void MemoryPlanner::placeTimeline(const Timeline& timeline, FreeList& device,
                                  FreeList& host) {
  auto spaceOf = [&](const Life& life) -> FreeList& {
    return program[life.members.front().value].onHost ? host : device;
  };
  std::vector<std::vector<const Life*>> dying(timeline.ops.size());
  size_t next = 0;
  for (size_t position = 0; position < timeline.ops.size(); ++position) {
    for (; next < timeline.lives.size() &&
           timeline.lives[next].begin == int(position);
         ++next) {
      const Life& life = timeline.lives[next];
      int64_t offset = arenaOf(life.members.front().value) +
                       spaceOf(life).allocate(aligned(life.bytes));
      for (const Life::Member& member : life.members)
        place(member.value, offset + member.offset, "activations");
      dying[size_t(life.end)].push_back(&life);
    }
    for (const Life* life : dying[position]) {
      ValueId first = life->members.front().value;
      spaceOf(*life).release(offsets[size_t(first)] - arenaOf(first),
                             aligned(life->bytes));
    }
  }
}

// ---- the workspace

void MemoryPlanner::sizeWorkspace() {
  for (ir::Function& function : program.functions)
    for (ir::Op& op : function.ops)
      if (int64_t needed = cost::workspaceElements(program, op); needed > 0) {
        op.attributes["workspace"] = needed;
        workspaceElements = std::max(workspaceElements, needed);
      }
}

/// Adds the lives on the device that overlap an op that uses the workspace.
void MemoryPlanner::avoidLives(const Timeline& timeline) {
  std::vector<int> users; // positions of ops that use the workspace
  for (size_t i = 0; i < timeline.ops.size(); ++i)
    if (timeline.ops[i]->attributes.contains("workspace"))
      users.push_back(int(i));
  for (const Life& life : timeline.lives) {
    const auto user = std::ranges::lower_bound(users, life.begin);
    const ValueId first = life.members.front().value;
    if (user == users.end() || *user > life.end || program[first].onHost)
      continue;
    const int64_t begin = offsets[size_t(first)];
    besideWorkspace.emplace_back(begin, begin + aligned(life.bytes));
  }
}

void MemoryPlanner::placeWorkspace() {
  if (workspaceElements == 0)
    return;
  ir::Value value;
  value.name = ValueNames(program).make("workspace");
  value.kind = ir::ValueKind::state;
  value.type = ir::DType::f32;
  value.dims = {ir::constantDim(program, workspaceElements)};
  value.sharding.dims = {{}};
  ValueId workspace = ir::addValue(program, std::move(value));
  isPlaced.push_back(false);
  offsets.push_back(0);
  program.bindings["workspace"] = workspace;
  const int64_t bytes = aligned(ir::localBytes(program, workspace));
  std::ranges::sort(besideWorkspace);
  const int64_t offset = firstGap(besideWorkspace, timelinesBegin, bytes);
  place(workspace, offset, "workspace");
  program.arenaBytes = std::max(program.arenaBytes, offset + bytes);
}

void MemoryPlanner::run() {
  placeRegions(&ir::Region::param, &ir::Region::paramPart, &ir::Param::value,
               "parameters");
  for (const ir::Region& region : program.regions)
    if (region.narrow != ValueId::none)
      placeNarrow(region);
  placeRest(ir::ValueKind::parameter, "parameters");
  placeRegions(&ir::Region::gradient, &ir::Region::gradientPart,
               &ir::Param::gradient, "gradients");
  for (const ir::Region& region : program.regions)
    for (ValueId value : {region.master, region.momentM, region.momentV})
      append(value, "optimizer");
  placeKept();
  placeRest(ir::ValueKind::input, "activations");
  placeRest(ir::ValueKind::state, "activations");
  placeSlots();
  for (FrameKind kind :
       {FrameKind::computed, FrameKind::received, FrameKind::onHost})
    placeChunks(kind);
  sizeWorkspace();
  placeTimelines();
  placeWorkspace();
  for (auto* placements : {&program.placements, &program.hostPlacements})
    std::stable_sort(placements->begin(), placements->end(),
                     [](const ir::Placement& left, const ir::Placement& right) {
                       return left.offset < right.offset;
                     });
}

} // namespace

void planMemory(ir::Module& program) {
  assert(program.placements.empty() && "memory is planned once");
  MemoryPlanner(program).run();
}

} // namespace recipec::passes
