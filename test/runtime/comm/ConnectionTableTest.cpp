// What the runtime reads from the plan's table of connections. Needs no GPU.

#include "runtime/comm/ConnectionTable.h"

#include "runtime/sizes/ConnectionWidths.h"

#include <gtest/gtest.h>

#include <vector>

namespace reciperun::comm {
namespace {

using plan::Transport;

/// Two stages of 2 x 2 ranks: all ranks, `tp` in turn and by kernels, `dp` by
/// copies, the first ranks of both stages, and a link each way.
plan::Plan testPlan() {
  plan::Plan plan;
  plan.mesh.axes = {{"pp", 2}, {"dp", 2}, {"tp", 2}};
  plan.mesh.groups = {{"dp", {"dp"}}, {"tp", {"tp"}}};
  plan.mesh.ranks = 8;
  plan.connections = {8,
                      true,
                      0,
                      {{Transport::nccl, false, {"pp", "dp", "tp"}},
                       {Transport::nccl, false, {"tp"}, {}, {1}},
                       {Transport::peerKernels, false, {"tp"}, {}, {1}},
                       {Transport::peerCopies, true, {"dp"}, {1}, {0}}},
                      {{0, 0, 1, 8, 0, 0}, {1, 1, 0, 8, 0, 0}}};
  return plan;
}

TEST(ConnectionTable, isEmptyWithoutConnections) {
  plan::Plan plan = testPlan();
  plan.connections.reset();
  const ConnectionTable table(plan);
  EXPECT_TRUE(table.groups().empty());
  EXPECT_TRUE(table.links().empty());
  EXPECT_FALSE(table.packs());
  EXPECT_EQ(table.streams(), 2); // of the communicator of all ranks
}

TEST(ConnectionTable, knowsTheRanksOfAConnection) {
  const plan::Plan plan = testPlan();
  const ConnectionTable table(plan);
  EXPECT_EQ(table.membersOf(table.groups()[1], 3), (std::vector<int>{2, 3}));
  EXPECT_EQ(table.membersOf(table.groups()[3], 5), (std::vector<int>{5, 7}));
  // Stage 0 has no part in it.
  EXPECT_TRUE(table.membersOf(table.groups()[3], 1).empty());
}

TEST(ConnectionTable, listsTheRanksWhoseMemoryIsMapped) {
  const plan::Plan plan = testPlan();
  const ConnectionTable table(plan);
  EXPECT_EQ(table.peersOf(0), (std::vector<int>{1}));
  EXPECT_EQ(table.peersOf(7), (std::vector<int>{5, 6}));
}

TEST(ConnectionTable, findsWhatReplacesKernels) {
  const plan::Plan plan = testPlan();
  const ConnectionTable table(plan);
  EXPECT_EQ(table.behind(table.groups()[2]), &table.groups()[1]);
  EXPECT_EQ(table.behind(table.groups()[3]), nullptr);
  EXPECT_EQ(joinedWidth(2, 8), 8);
  EXPECT_EQ(joinedWidth(sizes::unboundedBlocks, 8), sizes::unboundedBlocks);
}

TEST(ConnectionTable, countsStreams) {
  plan::Plan plan = testPlan();
  // Two for each of the five communicators, one for each link, and two for what
  // overlaps kernels.
  EXPECT_EQ(ConnectionTable(plan).streams(), 14);
  plan.connections->links.clear();
  EXPECT_EQ(ConnectionTable(plan).streams(), 8);
  plan.connections->groups.pop_back();
  EXPECT_EQ(ConnectionTable(plan).streams(), 4);
}

} // namespace
} // namespace reciperun::comm
