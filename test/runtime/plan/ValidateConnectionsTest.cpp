// A table of connections that does not fit its plan is refused.

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Validate.h"

#include <gtest/gtest.h>

#include <string>

namespace reciperun::plan {
namespace {

/// Two stages of two GPUs with an all-reduce, a collective that overlaps
/// kernels, and a message.
Plan pipeline() {
  Plan plan;
  plan.device = "cuda";
  plan.mesh.axes = {{"pp", 2}, {"cp", 1}, {"tp", 2}};
  plan.mesh.groups = {{"tp", {"tp"}}, {"cp+tp", {"cp", "tp"}}};
  plan.mesh.ranks = 4;
  plan.stages.resize(2);
  for (int stage : {0, 1}) {
    const auto kind =
        stage == 0 ? Transfer::Kind::send : Transfer::Kind::receive;
    plan.stages[size_t(stage)].transfers = {{kind, 0, 1 - stage, 0, 0}};
  }
  plan.stages[1].functions = {
      {"forward",
       {{OpKind::AllReduce, "sum", {}, {}, 0, -1, {}},
        {OpKind::AllGatherStart, "parts", {}, {}, 1, -1, {}},
        {OpKind::AllGatherDone, "parts", {}, {}, 1, -1, {}}}}};
  plan.connections = {
      4,
      false,
      0,
      {{Transport::nccl, false, {"pp", "tp"}, {}, {}, {}, 0, 2, {0, 0}},
       {Transport::nccl, false, {"tp"}, {}, {0}, {}, 0, 2, {0, 0}},
       {Transport::peerCopies, true, {"tp"}, {}, {1}, {}, 0, 0, {0, 0}}},
      {{0, 0, 1, 8, 0, 0}}};
  return plan;
}

/// The message for a plan edited by `change`.
template <class Change> std::string connectionsRefusal(const Change& change) {
  Plan plan = pipeline();
  change(plan);
  return validateConnections(plan).message();
}
/// The message for a table edited by `change`.
template <class Change> std::string refusalOf(const Change& change) {
  return connectionsRefusal([&](Plan& plan) { change(*plan.connections); });
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

TEST(ValidateConnections, takesATableThatFits) {
  EXPECT_EQ(connectionsRefusal([](Plan&) {}), "");
}

TEST(ValidateConnections, wantsATableForSeveralGpusOnly) {
  EXPECT_PRED2(says,
               connectionsRefusal([](Plan& plan) { plan.connections.reset(); }),
               "it lacks the connections of its 4 GPUs");
  EXPECT_PRED2(says,
               connectionsRefusal([](Plan& plan) { plan.device = "cpu"; }),
               "it has connections without several GPUs");
}

TEST(ValidateConnections, refusesWidthsThatNcclDoesNotHave) {
  EXPECT_PRED2(says, refusalOf([](Connections& t) { t.groups[1].width = -1; }),
               "connection 1 has width -1, which is not from 0 to 32");
  EXPECT_PRED2(says, refusalOf([](Connections& t) { t.links[0].width = 33; }),
               "link 0 has width 33, which is not from 0 to 32");
}

TEST(ValidateConnections, refusesOtherRanksThanTheGroups) {
  EXPECT_PRED2(says,
               refusalOf([](Connections& t) { t.groups[1].axes = {"pp"}; }),
               "connection 1 serves group `tp`, which has other ranks");
  EXPECT_PRED2(says,
               refusalOf([](Connections& t) { t.groups[1].axes = {"cp"}; }),
               "spans `cp`, which is no axis of several ranks");
  EXPECT_PRED2(says, refusalOf([](Connections& t) {
                 t.groups[0].axes = {"tp", "pp"};
               }),
               "connection 0 lists its axes in another order than the mesh");
  EXPECT_PRED2(says,
               refusalOf([](Connections& t) { t.groups[1].groups = {2}; }),
               "connection 1 serves group 2 of 2");
  EXPECT_PRED2(says,
               refusalOf([](Connections& t) { t.groups[1].stages = {2}; }),
               "connection 1 has ranks of stage 2 of 2");
  EXPECT_PRED2(
      says, refusalOf([](Connections& t) { t.groups.push_back(t.groups[1]); }),
      "group `tp` has two connections of one kind");
  EXPECT_PRED2(
      says, refusalOf([](Connections& t) { t.groups.erase(t.groups.begin()); }),
      "the first connection is not NCCL's of all ranks");
}

TEST(ValidateConnections, refusesPeersOnDifferentNodes) {
  EXPECT_PRED2(says, refusalOf([](Connections& t) { t.ranksPerNode = 1; }),
               "is by peer_copies of 2 ranks, more than 1");
  EXPECT_PRED2(says, refusalOf([](Connections& t) {
                 t.ranksPerNode = 3; // ranks 2 and 3
               }),
               "is by peer_copies between ranks 2 and 3, which are on "
               "different nodes of 3");
  EXPECT_PRED2(says, refusalOf([](Connections& t) {
                 t.groups[2].transport = Transport::peerKernels;
               }),
               "is by peer_kernels and overlaps with kernels");
}

TEST(ValidateConnections, refusesWhatHasNoConnection) {
  EXPECT_PRED2(says, refusalOf([](Connections& t) { t.groups[1].groups = {}; }),
               "op `sum` (all_reduce) has no connection for group `tp`");
  EXPECT_PRED2(says, refusalOf([](Connections& t) { t.groups.pop_back(); }),
               "op `parts` (all_gather_start) has no connection for group "
               "`cp+tp`");
  EXPECT_PRED2(says, refusalOf([](Connections& t) {
                 std::swap(t.links[0].from, t.links[0].to);
               }),
               "transfer 0 of stage 0 has no connection for link 0");
}

TEST(ValidateConnections, refusesBytesThatDoNotFitTheStages) {
  EXPECT_PRED2(says,
               refusalOf([](Connections& t) { t.groups[1].bytes.pop_back(); }),
               "does not say how many bytes it takes in each of 2 stages");
  EXPECT_PRED2(says, refusalOf([](Connections& t) { t.commonBytes = -1; }),
               "the connections take -1 bytes in common");
}

} // namespace
} // namespace reciperun::plan
