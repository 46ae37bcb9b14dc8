// libFuzzer target: the reader of plans.
//
// Any bytes are read as a plan. A refusal has a reason. A plan that was read is
// written and read again unchanged. After validation all buffers lie inside the
// arena, recomputed here in wider integers.

#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"
#include "test/fuzz/PlanMutator.h"
#include "test/fuzz/Require.h"

#include <algorithm>
#include <cstring>

using namespace reciperun;
using recipec::fuzz::require;

namespace {

__extension__ typedef __int128 Wide;

/// The end offset of the last byte that any rank reaches through the buffer.
Wide reach(const plan::Plan& plan, const plan::Buffer& buffer) {
  Wide bytes = plan::byteSize(buffer.dtype);
  for (int64_t dimension : buffer.shape)
    bytes *= dimension;
  int shards = plan::axisSize(plan.mesh, buffer.shardAxis);
  return bytes + buffer.offset + Wide(buffer.slots - 1) * buffer.slotStride +
         Wide(shards - 1) * buffer.shardStride;
}

void checkReach(const plan::Plan& plan) {
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Buffer& buffer : stage.buffers)
      require(reach(plan, buffer) <= stage.memory.arena,
              "a buffer of a validated plan ends inside the arena");
}

/// Makes the queries that the runtime makes to a mesh before it uses a device.
void checkMesh(const plan::Plan& plan) {
  constexpr int enoughRanks = 64;
  for (int rank : {0, plan.mesh.ranks - 1})
    for (const plan::Group& group : plan.mesh.groups) {
      int size = plan::groupSize(plan.mesh, group);
      require(size >= 1 && size <= plan.mesh.ranks, "a group is of ranks");
      if (plan.mesh.ranks > enoughRanks)
        continue;
      std::vector<int> members = plan::groupMembers(plan.mesh, group, rank);
      require(int(members.size()) == size &&
                  std::count(members.begin(), members.end(), rank) == 1,
              "a rank is a member of its group");
    }
}

size_t store(const std::string& text, uint8_t* data, size_t limit) {
  if (text.empty() || text.size() > limit)
    return 0;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

std::string_view view(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t limit, unsigned seed) {
  constexpr unsigned bytesOnceIn = 16;
  if (seed % bytesOnceIn != 0)
    if (size_t made =
            store(fuzz::mutatePlan(view(data, size), seed), data, limit))
      return made;
  return LLVMFuzzerMutate(data, size, limit);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t oneSize,
                                            const uint8_t* two, size_t twoSize,
                                            uint8_t* out, size_t limit,
                                            unsigned seed) {
  return store(fuzz::crossPlans(view(one, oneSize), view(two, twoSize), seed),
               out, limit);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Expected<plan::Plan> plan = plan::fromJson(view(data, size));
  if (!plan) {
    require(!plan.message().empty(), "a refusal has a reason");
    return 0;
  }
  std::string written = plan::toJson(*plan);
  Expected<plan::Plan> again = plan::fromJson(written);
  require(bool(again), "what toJson writes is a plan");
  require(plan::toJson(*again) == written, "plans are byte-stable");
  Status valid = plan::validate(*plan);
  if (!valid.isOk())
    return 0;
  checkReach(*plan);
  checkMesh(*plan);
  return 0;
}
