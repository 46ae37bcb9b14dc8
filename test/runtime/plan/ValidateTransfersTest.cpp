// Messages that the two stages describe differently are refused.

#include "runtime/plan/Validate.h"

#include <gtest/gtest.h>

namespace reciperun::plan {
namespace {

/// The first of two stages sends two buffers over one line.
Plan pipeline() {
  Plan plan;
  plan.mesh.axes = {{"pp", 2}};
  plan.stages.resize(2);
  for (int stage : {0, 1}) {
    Stage& described = plan.stages[size_t(stage)];
    const auto kind =
        stage == 0 ? Transfer::Kind::send : Transfer::Kind::receive;
    const auto step =
        stage == 0 ? ScheduleStep::Kind::send : ScheduleStep::Kind::receive;
    described.buffers.resize(2);
    described.buffers[0].name = "x";
    described.buffers[1].name = "y";
    described.transfers = {{kind, 0, 1 - stage, 0, 0},
                           {kind, 1, 1 - stage, 1, 0}};
    described.schedules = {
        {"train", {{step, -1, 0, 0}, {step, -1, 1, 0}, {step, -1, 0, 1}}}};
  }
  return plan;
}

/// The message for a plan edited by `change`.
template <class Change> std::string transferRefusal(const Change& change) {
  Plan plan = pipeline();
  change(plan);
  return validateTransfers(plan).message();
}

TEST(ValidateTransfers, takesAWholePlan) {
  const Status status = validateTransfers(pipeline());
  EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(ValidateTransfers, refusesSidesThatDiffer) {
  EXPECT_NE(transferRefusal([](Plan& plan) {
              plan.stages[1].transfers.pop_back();
            }).find("transfer 1 of stage 0 has no other side"),
            std::string::npos);
  EXPECT_NE(transferRefusal([](Plan& plan) {
              plan.stages[1].buffers[0].shape = {5};
            }).find("transfer 0 is of `x` and of `x`, which differ"),
            std::string::npos);
}

TEST(ValidateTransfers, refusesLinksThatTwoSidesSeeDifferently) {
  EXPECT_NE(transferRefusal([](Plan& plan) {
              plan.stages[1].transfers[1].link = 1;
            }).find("messages are not sent in the order"),
            std::string::npos);
  EXPECT_NE(transferRefusal([](Plan& plan) {
              // The opposite direction, over the same line.
              using Kind = Transfer::Kind;
              plan.stages[1].transfers.push_back({Kind::send, 0, 0, 2, 0});
              plan.stages[0].transfers.push_back({Kind::receive, 0, 1, 2, 0});
            }).find("link 0 joins more than two stages"),
            std::string::npos);
}

TEST(ValidateTransfers, refusesAnotherOrder) {
  const auto told = transferRefusal([](Plan& plan) {
    std::vector<ScheduleStep>& steps = plan.stages[1].schedules[0].steps;
    std::swap(steps[1], steps[2]);
  });
  EXPECT_NE(told.find("in schedule `train` messages are not sent in the order "
                      "in which they are received"),
            std::string::npos)
      << told;
  // Messages on two lines may overtake each other.
  EXPECT_EQ(transferRefusal([](Plan& plan) {
              for (Stage& stage : plan.stages)
                stage.transfers[1].link = 1;
              std::vector<ScheduleStep>& steps =
                  plan.stages[1].schedules[0].steps;
              std::swap(steps[1], steps[2]);
            }),
            "");
}

} // namespace
} // namespace reciperun::plan
