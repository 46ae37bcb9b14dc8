// The exact memory of narrow optimizer state and of activations on the host.

#include "runtime/ops/OpKind.h"
#include "test/compiler/driver/Compiled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace recipec::driver {
namespace {

using ir::ValueId;
using Sets = std::vector<std::string>;

/// The sizes of `tiny` in bf16 on four ranks.
struct Sizes {
  int64_t elements = 0; // of all regions
  int64_t parts = 0;    // of a rank's shards of them
  cost::MemoryTable memory;
};

Sizes sizesOf(Sets sets) {
  sets.push_back("precision.compute=\"bf16\"");
  auto compiled = compileInput("tiny.recipe:tiny", sets);
  Sizes sizes;
  EXPECT_TRUE(compiled);
  if (!compiled)
    return sizes;
  const ir::Module& program = compiled->result.stages[0];
  for (const ir::Region& region : program.regions) {
    sizes.elements += region.elements;
    sizes.parts += region.elements / ir::sizeOf(program, region.shard);
  }
  sizes.memory = compiled->result.estimate.memory;
  return sizes;
}

TEST(NarrowMemory, StateTakesTheBytesOfItsTypes) {
  struct Case {
    Sets sets;
    int64_t gradient, state; // bytes per element
  };
  const std::string grads = "precision.grads=\"bf16\"",
                    moments = "precision.moments=\"bf16\"",
                    halves = "precision.master=\"bf16+remainder\"",
                    none = "precision.master=\"bf16\"";
  for (const Case& each :
       {Case{{}, 4, 12}, Case{{grads}, 2, 12}, Case{{moments}, 4, 8},
        Case{{halves}, 4, 10}, Case{{halves, moments}, 4, 6},
        Case{{none}, 4, 8}, Case{{grads, none, moments}, 2, 4}}) {
    Sizes sizes = sizesOf(each.sets);
    EXPECT_LT(sizes.parts, sizes.elements);
    EXPECT_EQ(sizes.memory.parameters, 2 * sizes.elements);
    EXPECT_EQ(sizes.memory.gradients, each.gradient * sizes.elements);
    EXPECT_EQ(sizes.memory.optimizer, each.state * sizes.parts);
  }
}

TEST(NarrowMemory, CastGradientsLieWhereActivationsDo) {
  Sizes plain = sizesOf({}), cast = sizesOf({"comm.reduce=\"bf16\""});
  EXPECT_EQ(cast.memory.gradients, plain.memory.gradients);
  // All regions in bf16, and the shards that their reduce-scatter produces.
  EXPECT_LE(cast.memory.activations,
            std::max(plain.memory.activations,
                     2 * (plain.elements + plain.parts) + 4096));
}

TEST(NarrowMemory, CheckpointsAreStagedInFullMasters) {
  const Sets saving = {"checkpoint.every=5 steps"};
  Sets halves = saving;
  halves.push_back("precision.master=\"bf16+remainder\"");
  EXPECT_EQ(sizesOf(halves).memory.host, sizesOf(saving).memory.host);
}

// ---- activations on the host

/// Bytes that the layers below `layers` save, with each value placed
/// separately.
int64_t savedBytes(const ir::Module& program, int layers) {
  std::set<ValueId> seen;
  int64_t bytes = 0;
  for (const ir::Op& op : ir::findFunction(program, "forward")->ops)
    for (ValueId value : op.results)
      if (op.layer >= 0 && op.layer < layers &&
          program[value].kind == ir::ValueKind::saved &&
          seen.insert(value).second)
        bytes += (ir::localBytes(program, value) + 63) / 64 * 64;
  return bytes;
}

TEST(OffloadedMemory, LeavesTheDeviceForTheHost) {
  const Sets deep = {"model.layers=12", "parallel.tp=1", "cluster.ranks=1"};
  auto whole = compileInput("tiny.recipe:tiny", deep);
  ASSERT_TRUE(whole);
  const ir::Module& kept = whole->result.stages[0];
  const cost::MemoryTable& before = whole->result.estimate.memory;
  EXPECT_EQ(before.offloaded, 0);
  int64_t layer = savedBytes(kept, 1);
  for (int layers : {1, 4, 9}) {
    Sets sets = deep;
    sets.push_back("memory.offload_layers=" + std::to_string(layers));
    auto compiled = compileInput("tiny.recipe:tiny", sets);
    ASSERT_TRUE(compiled);
    const cost::MemoryTable& after = compiled->result.estimate.memory;
    EXPECT_EQ(after.offloaded, savedBytes(kept, layers));
    EXPECT_EQ(after.total, after.arena + after.library + after.offloaded)
        << "a CPU's memory is the host's";
    // One layer's copies are in flight when the backward pass begins.
    int64_t saved = before.activations - after.activations;
    EXPECT_LE(saved, after.offloaded);
    EXPECT_GE(saved, after.offloaded - 2 * layer) << layers;
  }
}

/// While a copy is in flight, no op writes its source or uses its destination.
/// Every copy ends in its function.
void checkCopies(const ir::Function& function) {
  std::map<ValueId, ValueId> underway; // from source to destination
  for (const ir::Op& op : function.ops) {
    if (op.kind == ir::OpKind::CopyEnd) {
      ASSERT_EQ(underway.count(op.results[0]), 1u) << op.name;
      EXPECT_EQ(underway.at(op.results[0]), op.operands[0]);
      underway.erase(op.results[0]);
      continue;
    }
    for (const auto& [to, from] : underway) {
      EXPECT_EQ(std::count(op.operands.begin(), op.operands.end(), to), 0);
      EXPECT_EQ(std::count(op.results.begin(), op.results.end(), to), 0);
      EXPECT_EQ(std::count(op.results.begin(), op.results.end(), from), 0);
    }
    if (op.kind == ir::OpKind::CopyBegin)
      underway.emplace(op.results[0], op.operands[0]);
  }
  EXPECT_TRUE(underway.empty());
}

TEST(OffloadedMemory, IsLeftAloneWhileItIsCopied) {
  const std::vector<Sets> settings = {
      {},
      {"memory.recompute=\"full\""},
      {"parallel.pp=2", "cluster.ranks=4", "model.layers=8", "parallel.vp=2"},
      {"adapter=lora { rank = 4, dropout = 0.1 }"},
      {"parallel.shard=\"parameters\""}};
  for (Sets sets : settings) {
    sets.push_back("memory.offload_layers=2");
    auto compiled = compileInput("tiny.recipe:tiny", sets);
    ASSERT_TRUE(compiled);
    for (const ir::Module& stage : compiled->result.stages) {
      EXPECT_GT(stage.hostBytes, 0);
      for (const ir::Function& function : stage.functions)
        checkCopies(function);
    }
  }
}

TEST(OffloadedMemory, CountsMicroBatchesInFlight) {
  const Sets stages = {"model.layers=4", "parallel.tp=1", "cluster.ranks=2",
                       "parallel.pp=2"};
  Sets sets = stages;
  sets.push_back("memory.offload_layers=1");
  auto whole = compileInput("tiny.recipe:tiny", stages);
  auto compiled = compileInput("tiny.recipe:tiny", sets);
  ASSERT_TRUE(whole && compiled);
  // 1F1B: the first of two stages has two micro-batches in flight, and sends no
  // value of its first layer.
  EXPECT_EQ(compiled->result.estimate.stages[0].offloaded,
            2 * savedBytes(whole->result.stages[0], 1));
  EXPECT_LT(compiled->result.estimate.stages[0].activations,
            whole->result.estimate.stages[0].activations);
}

TEST(OffloadedMemory, IsNotTheDevicesWhereThatIsAGpu) {
  auto compiled = compileInput(
      "tiny.recipe:tiny", {"cluster.hardware=h100", "memory.offload_layers=2"});
  ASSERT_TRUE(compiled);
  const cost::MemoryTable& memory = compiled->result.estimate.memory;
  EXPECT_GT(memory.offloaded, 0);
  EXPECT_EQ(memory.total, memory.arena + memory.library);
}

} // namespace
} // namespace recipec::driver
