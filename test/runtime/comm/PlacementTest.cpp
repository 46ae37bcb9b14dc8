// A plan is refused on hosts where ranks could not map each other's memory.

#include "runtime/comm/Placement.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::comm {
namespace {

/// Two data-parallel replicas of two ranks, whose memory is mapped along `tp`.
plan::Plan placementPlan() {
  plan::Plan plan;
  plan.mesh.axes = {{"dp", 2}, {"tp", 2}};
  plan.mesh.groups = {{"tp", {"tp"}}};
  plan.mesh.ranks = 4;
  plan::Connections& table = plan.connections.emplace();
  table.ranksPerNode = 4;
  table.groups.resize(2);
  table.groups[0].axes = {"dp", "tp"};
  table.groups[1].axes = {"tp"};
  table.groups[1].transport = plan::Transport::peerCopies;
  return plan;
}

std::string refusal(const plan::Plan& plan, const std::vector<int64_t>& hosts) {
  return checkPlacement(ConnectionTable(plan), hosts).message();
}

TEST(Placement, takesHostsThatHoldWholeGroups) {
  const plan::Plan plan = placementPlan();
  EXPECT_EQ(refusal(plan, {0, 0, 0, 0}), "");
  EXPECT_EQ(refusal(plan, {0, 0, 2, 2}), "");
}

TEST(Placement, refusesAGroupOnTwoHosts) {
  EXPECT_EQ(refusal(placementPlan(), {0, 1, 2, 3}),
            "ranks 0 and 1 are on different hosts; the plan is for 4 "
            "consecutive ranks on each host and lets these two map each "
            "other's memory; start it with mpirun `--map-by ppr:4:node`, or "
            "compile the recipe with `--set "
            "cluster.hardware.ranks_per_node=1`");
}

TEST(Placement, proposesNoPlanForHostsThatDiffer) {
  // Ranks dealt out in turn, and a host of one rank beside one of three.
  for (const std::vector<int64_t>& hosts :
       {std::vector<int64_t>{0, 1, 0, 1}, {0, 1, 1, 1}}) {
    const std::string told = refusal(placementPlan(), hosts);
    EXPECT_NE(told.find("mpirun `--map-by ppr:4:node`"), std::string::npos);
    EXPECT_EQ(told.find("--set"), std::string::npos) << told;
  }
}

TEST(Placement, doesNotMatterToNccl) {
  plan::Plan plan = placementPlan();
  plan.connections->groups.pop_back();
  EXPECT_EQ(refusal(plan, {0, 1, 0, 1}), "");
}

TEST(Placement, doesNotMatterWithoutConnections) {
  plan::Plan plan = placementPlan();
  plan.connections.reset();
  EXPECT_EQ(refusal(plan, {0, 1, 2, 3}), "");
}

} // namespace
} // namespace reciperun::comm
