// Which connections a plan needs, and how wide they are. Needs no GPU.

#include "runtime/comm/PlanConnections.h"

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace reciperun::comm {
namespace {

using plan::OpKind;

constexpr int64_t mebibyte = int64_t(1) << 20;

/// Two stages of 2 x 2 ranks. Group 0 is `dp`, 1 is `tp`, 2 is both, and 3 has
/// the ranks of `tp` under another name, since `cp` has one rank.
plan::Plan testPlan() {
  plan::Plan plan;
  plan.mesh.axes = {{"pp", 2}, {"dp", 2}, {"cp", 1}, {"tp", 2}};
  plan.mesh.groups = {{"dp", {"dp"}},
                      {"tp", {"tp"}},
                      {"dp+tp", {"dp", "tp"}},
                      {"cp+tp", {"cp", "tp"}}};
  plan.mesh.ranks = 8;
  plan.stages.resize(2);
  for (plan::Stage& stage : plan.stages) {
    stage.buffers.resize(2);
    stage.buffers[0].shape = {1000}; // f32
    stage.buffers[1].shape = {2, mebibyte};
    stage.functions = {{"all", {}}};
  }
  return plan;
}

void add(plan::Plan& plan, int stage, OpKind kind, int group, int buffer,
         const std::map<std::string, int64_t>& attributes = {}) {
  plan::Op op{kind, "op", {buffer}, {buffer}, group, -1, {}};
  for (const auto& [name, value] : attributes)
    op.attributes.add(name, value);
  plan.stages[size_t(stage)].functions[0].ops.push_back(op);
}

TEST(PlanConnections, followFromOpsOfAllStages) {
  plan::Plan plan = testPlan();
  add(plan, 0, OpKind::AllReduce, 1, 0);
  add(plan, 1, OpKind::AllReduce, 1, 1);
  add(plan, 1, OpKind::ReduceScatterStart, 0, 1);
  add(plan, 1, OpKind::ReduceScatterDone, 0, 1);
  add(plan, 0, OpKind::AllToAll, 2, 1, {{"split", 1}, {"concat", 0}});
  const PlanConnections found = connectionsOf(plan);
  ASSERT_EQ(found.groups.size(), 2u);
  EXPECT_EQ(found.groups.at(1).bytes, 8 * mebibyte);
  EXPECT_FALSE(found.groups.at(1).isExchange);
  EXPECT_EQ(found.groups.at(2).bytes, 8 * mebibyte);
  EXPECT_TRUE(found.groups.at(2).isExchange);
  ASSERT_EQ(found.background.size(), 1u);
  EXPECT_TRUE(found.background.at(0).isExchange);
  EXPECT_TRUE(found.packs);
}

TEST(PlanConnections, takeStreamsForWhatRunsBesideAndForTheLibrary) {
  plan::Plan plan = testPlan();
  const auto streams = [&] {
    return streamsOf(plan.mesh, connectionsOf(plan));
  };
  EXPECT_EQ(streams(), 2); // communicator of all ranks
  add(plan, 0, OpKind::AllReduce, 1, 0);
  add(plan, 1, OpKind::AllReduce, 3, 0); // the same ranks
  EXPECT_EQ(streams(), 4);
  add(plan, 1, OpKind::ReduceScatterStart, 0, 1);
  EXPECT_EQ(streams(), 8); // one for all, one for the group, two of its own
  plan.stages[0].transfers.resize(1);
  plan.stages[0].transfers[0].peer = 1;
  EXPECT_EQ(streams(), 11);
}

TEST(PlanConnections, kernelsExchangeRuns) {
  plan::Plan plan = testPlan();
  add(plan, 0, OpKind::AllToAll, 1, 1, {{"split", 0}, {"concat", 1}});
  const PlanConnections found = connectionsOf(plan);
  EXPECT_TRUE(found.groups.empty());
  ASSERT_EQ(found.barriers.size(), 1u);
  EXPECT_EQ(found.barriers.at(1).bytes, 8 * mebibyte);
  EXPECT_FALSE(found.packs);
}

TEST(PlanConnections, kernelsMeetWhereMemoryIsMapped) {
  plan::Plan plan = testPlan();
  add(plan, 0, OpKind::AllGather, 1, 1);
  add(plan, 0, OpKind::ReduceScatter, 1, 1);
  EXPECT_TRUE(connectionsOf(plan).barriers.empty());
  EXPECT_EQ(connectionsOf(plan).groups.at(1).bytes, 8 * mebibyte);
  // `tp` under its other name.
  add(plan, 1, OpKind::AllGatherStart, 3, 0);
  EXPECT_TRUE(connectionsOf(plan).groups.empty());
  EXPECT_EQ(connectionsOf(plan).barriers.at(1).bytes, 8 * mebibyte);
  // Parts along the second dimension are not contiguous.
  add(plan, 0, OpKind::AllGather, 1, 1, {{"dim", 1}});
  EXPECT_EQ(connectionsOf(plan).groups.size(), 1u);
  EXPECT_EQ(connectionsOf(plan).barriers.size(), 1u);
}

TEST(PlanConnections, aShiftRunsBesideKernelsAndHasTheSizeOfAllThatItSends) {
  plan::Plan plan = testPlan();
  plan::Op shift{
      OpKind::RingShiftStart, "op", {1, 1, 0, -1}, {1, 1, 0, -1}, 0, -1, {}};
  plan.stages[0].functions[0].ops.push_back(shift);
  const PlanConnections found = connectionsOf(plan);
  EXPECT_TRUE(found.groups.empty());
  EXPECT_TRUE(found.barriers.empty());
  ASSERT_EQ(found.background.size(), 1u);
  EXPECT_EQ(found.background.at(0).bytes, 16 * mebibyte + 4000);
  EXPECT_FALSE(found.background.at(0).isExchange);
  EXPECT_FALSE(found.packs);
}

TEST(PlanConnections, sharedRegionsHaveGroupsToo) {
  plan::Plan plan = testPlan();
  plan.stages[1].regions.resize(1);
  plan.stages[1].regions[0].shardAxis = "dp";
  const PlanConnections found = connectionsOf(plan);
  ASSERT_EQ(found.groups.size(), 1u);
  EXPECT_EQ(found.groups.at(0).bytes, 0);
}

TEST(PlanConnections, lineIsOfAllItsMessages) {
  plan::Plan plan = testPlan();
  using Kind = plan::Transfer::Kind;
  plan.stages[0].transfers = {{Kind::send, 0, 1, 0, 0},
                              {Kind::send, 1, 1, 1, 0},
                              {Kind::receive, 0, 1, 2, 1}};
  plan.stages[1].transfers = {{Kind::receive, 0, 0, 0, 0},
                              {Kind::receive, 1, 0, 1, 0},
                              {Kind::send, 0, 0, 2, 1}};
  EXPECT_EQ(connectionsOf(plan).links,
            (std::set<LinkUse>{{0, 0, 1}, {1, 1, 0}}));
}

TEST(PlanConnections, groupsOfOneExtentAreOne) {
  plan::Plan plan = testPlan();
  add(plan, 0, OpKind::AllReduce, 1, 0);
  add(plan, 0, OpKind::AllToAll, 3, 1, {{"split", 1}, {"concat", 0}});
  const auto uses = usesByExtent(plan.mesh, connectionsOf(plan).groups);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses.begin()->second.bytes, 8 * mebibyte);
  EXPECT_TRUE(uses.begin()->second.isExchange);
  EXPECT_EQ(extentOfAll(plan.mesh).first,
            (std::vector<std::string>{"pp", "dp", "tp"}));
}

TEST(PlanConnections, areAsWideAsWhatGoesByThem) {
  const GroupUse little{4 * mebibyte, true}, much{4 * mebibyte + 1, false},
      exchange{4 * mebibyte + 1, true};
  EXPECT_EQ(blocksFor(little, {0, 1, 2, 3}, 8), 2);
  EXPECT_EQ(blocksFor(much, {0, 1, 2, 3}, 8), sizes::unboundedBlocks);
  EXPECT_EQ(blocksFor(exchange, {0, 1, 2, 3}, 8), sizes::unboundedBlocks);
  EXPECT_EQ(blocksFor(exchange, {0, 1, 8, 9}, 8), 16);
  EXPECT_EQ(blocksFor(much, {0, 1, 8, 9}, 8), sizes::unboundedBlocks);
  // One rank on each host.
  EXPECT_EQ(blocksFor(much, {0, 8, 16}, 8), 8);
  EXPECT_EQ(blocksFor(exchange, {3, 7}, 4), 8);
  EXPECT_EQ(sizes::blocksOfLine(/*isNear=*/true), 8);
  EXPECT_EQ(sizes::blocksOfLine(/*isNear=*/false), 4);
}

} // namespace
} // namespace reciperun::comm
