// When stages wait for each other, and when messages arrive.

#include "compiler/cost/Timeline.h"
#include "test/compiler/cost/MessageSimulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace recipec::cost {
namespace {

using ir::ScheduleStep;
using ir::Transfer;

/// Stages with a hand-written schedule `train`. A channel's value has `slots`
/// on both sides, and each channel has its own line.
class Stages {
public:
  explicit Stages(int count) : stages(size_t(count)) {
    for (int i = 0; i < count; ++i) {
      stages[size_t(i)].stage = i;
      stages[size_t(i)].schedules = {{"train", {}}};
      stages[size_t(i)].functions.resize(1);
      stages[size_t(i)].functions[0].name = "forward";
    }
  }

  void channel(int number, int from, int to, int slots = 1) {
    add(from, {Transfer::Kind::send, {}, to, number, "forward", number}, slots);
    add(to, {Transfer::Kind::receive, {}, from, number, "forward", number},
        slots);
  }
  void run(int stage, int microBatch = 0) {
    stages[size_t(stage)].schedules[0].steps.push_back(
        {ScheduleStep::Kind::run, "forward", -1, microBatch});
  }
  void step(int stage, ScheduleStep::Kind kind, int channel,
            int microBatch = 0) {
    ir::Module& module = stages[size_t(stage)];
    for (size_t i = 0; i < module.transfers.size(); ++i)
      if (module.transfers[i].channel == channel)
        module.schedules[0].steps.push_back({kind, {}, int(i), microBatch});
  }

  std::vector<ir::Module> stages;

private:
  void add(int stage, Transfer transfer, int slots) {
    ir::Module& module = stages[size_t(stage)];
    ir::Value value;
    value.kind = transfer.kind == Transfer::Kind::send
                     ? ir::ValueKind::saved
                     : ir::ValueKind::received;
    value.slots = slots;
    transfer.value = ir::addValue(module, std::move(value));
    module.transfers.push_back(std::move(transfer));
  }
};

Timeline timelineOf(const Stages& stages) {
  return simulate(
      stages.stages, "train", [](int, const ir::Function&) { return 1.0; },
      [](int, const Transfer&) { return 0.5; });
}

/// A message moves once both sides have begun it. Until then both sides wait.
TEST(Timeline, aMessageStartsWhenBothSidesHaveBegunIt) {
  Stages stages(2);
  stages.channel(0, 0, 1);
  stages.step(0, ScheduleStep::Kind::send, 0); // at 0
  stages.step(0, ScheduleStep::Kind::wait, 0);
  stages.run(0);
  stages.run(1); // from 0 to 1
  stages.step(1, ScheduleStep::Kind::receive, 0);
  stages.step(1, ScheduleStep::Kind::wait, 0);
  const Timeline timeline = timelineOf(stages);
  EXPECT_TRUE(timeline.deadlock.empty());
  EXPECT_EQ(timeline.stages[0][0].begin, 1.5);
  EXPECT_EQ(timeline.end, 2.5);
}

TEST(Timeline, messagesOfALineFollowOneAnother) {
  Stages stages(2);
  stages.channel(0, 0, 1, 2);
  for (ScheduleStep::Kind kind :
       {ScheduleStep::Kind::send, ScheduleStep::Kind::wait})
    for (int microBatch : {0, 1})
      stages.step(0, kind, 0, microBatch);
  for (ScheduleStep::Kind kind :
       {ScheduleStep::Kind::receive, ScheduleStep::Kind::wait})
    for (int microBatch : {0, 1})
      stages.step(1, kind, 0, microBatch);
  EXPECT_EQ(timelineOf(stages).end, 1.0);
}

/// Both stages wait for their sends before they receive. With a buffer between
/// them both would continue.
TEST(Timeline, stagesThatSendFirstWaitForOneAnother) {
  Stages stages(3);
  stages.channel(0, 0, 1);
  stages.channel(1, 1, 0);
  stages.channel(2, 1, 2);
  for (int stage : {0, 1}) {
    stages.step(stage, ScheduleStep::Kind::send, stage);
    stages.step(stage, ScheduleStep::Kind::wait, stage);
  }
  stages.step(0, ScheduleStep::Kind::receive, 1);
  stages.step(1, ScheduleStep::Kind::receive, 0);
  stages.step(2, ScheduleStep::Kind::receive, 2);
  // Stage 2 waits for stage 1, but no stage waits for stage 2.
  stages.step(2, ScheduleStep::Kind::wait, 2);
  const Timeline timeline = timelineOf(stages);
  ASSERT_EQ(timeline.deadlock.size(), 2u);
  for (int stage : {0, 1}) {
    const Blocked& blocked = timeline.deadlock[size_t(stage)];
    EXPECT_EQ(blocked.stage, stage);
    EXPECT_EQ(stages.stages[size_t(stage)]
                  .transfers[size_t(blocked.transfer)]
                  .channel,
              stage);
  }
}

/// A slot is free again after its message has moved, even without a wait.
TEST(Timeline, aSlotThatIsTakenAgainIsWaitedFor) {
  for (int slots : {1, 2}) {
    Stages stages(2);
    stages.channel(0, 0, 1, slots);
    stages.channel(1, 1, 0);
    stages.step(0, ScheduleStep::Kind::send, 0, 0);
    stages.step(0, ScheduleStep::Kind::send, 0, 1);
    stages.step(0, ScheduleStep::Kind::receive, 1);
    stages.step(1, ScheduleStep::Kind::send, 1);
    stages.step(1, ScheduleStep::Kind::wait, 1);
    stages.step(1, ScheduleStep::Kind::receive, 0, 0);
    stages.step(1, ScheduleStep::Kind::receive, 0, 1);
    EXPECT_EQ(timelineOf(stages).deadlock.empty(), slots == 2);
  }
}

/// Draws steps of each stage in an order that a run of messages can have, with
/// waits at random positions.
Stages drawStages(std::mt19937& chance) {
  const int count = 2 + int(chance() % 3), channels = 2 + int(chance() % 5);
  Stages stages(count);
  std::vector<std::pair<int, int>> ends;
  for (int channel = 0; channel < channels; ++channel) {
    const int from = int(chance() % unsigned(count));
    const int to = (from + 1 + int(chance() % unsigned(count - 1))) % count;
    stages.channel(channel, from, to, 1 + int(chance() % 3));
    ends.emplace_back(from, to);
  }
  for (int microBatch = 0; microBatch < 3; ++microBatch)
    for (int stage = 0; stage < count; ++stage) {
      std::vector<std::pair<int, ScheduleStep::Kind>> begun;
      for (int channel = 0; channel < channels; ++channel) {
        if (ends[size_t(channel)].first == stage)
          begun.emplace_back(channel, ScheduleStep::Kind::send);
        if (ends[size_t(channel)].second == stage)
          begun.emplace_back(channel, ScheduleStep::Kind::receive);
      }
      std::shuffle(begun.begin(), begun.end(), chance);
      for (const auto& [channel, kind] : begun) {
        stages.step(stage, kind, channel, microBatch);
        if (chance() % 2 == 0)
          stages.step(stage, ScheduleStep::Kind::wait,
                      begun[chance() % begun.size()].first, microBatch);
      }
    }
  return stages;
}

/// The timeline finds a deadlock if and only if the stages run into one.
TEST(Timeline, findsTheDeadlocksThatStagesRunInto) {
  std::mt19937 chance(1);
  int dead = 0, alive = 0;
  for (int i = 0; i < 2000; ++i) {
    Stages stages = drawStages(chance);
    // All sent values exist from the start, because this test is only about
    // order.
    for (ir::Module& stage : stages.stages)
      for (ir::Value& value : stage.values)
        if (value.kind == ir::ValueKind::saved)
          value.kind = ir::ValueKind::state;
    const std::string problem = runMessages(stages.stages, "train", chance);
    const bool isDead = !timelineOf(stages).deadlock.empty();
    EXPECT_EQ(isDead, problem.ends_with("wait for ever")) << problem;
    EXPECT_TRUE(isDead || problem.empty()) << problem;
    ++(isDead ? dead : alive);
  }
  EXPECT_GT(dead, 300);
  EXPECT_GT(alive, 300);
}

} // namespace
} // namespace recipec::cost
