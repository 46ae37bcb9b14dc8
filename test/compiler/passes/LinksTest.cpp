// Which messages between stages share a line.

#include "compiler/passes/schedule/Links.h"

#include <gtest/gtest.h>

namespace recipec::passes {
namespace {

using ir::ScheduleStep;
using ir::Transfer;

/// Stages with a hand-written schedule `train`.
class Stages {
public:
  explicit Stages(int count) : stages(size_t(count)) {
    for (int i = 0; i < count; ++i) {
      stages[size_t(i)].stage = i;
      stages[size_t(i)].schedules = {{"train", {}}};
    }
  }

  void channel(int number, int from, int to) {
    stages[size_t(from)].transfers.push_back(
        {Transfer::Kind::send, {}, to, number, "forward"});
    stages[size_t(to)].transfers.push_back(
        {Transfer::Kind::receive, {}, from, number, "forward"});
  }

  void send(int stage, int channel, int microBatch) {
    step(stage, ScheduleStep::Kind::send, channel, microBatch);
  }
  void receive(int stage, int channel, int microBatch) {
    step(stage, ScheduleStep::Kind::receive, channel, microBatch);
  }

  /// The line of each channel, which must be equal on both sides.
  std::vector<int> lines(int channels) {
    assignLinks(stages);
    std::vector<int> result(size_t(channels), -1);
    for (const ir::Module& stage : stages)
      for (const Transfer& transfer : stage.transfers) {
        int& line = result[size_t(transfer.channel)];
        EXPECT_TRUE(line == -1 || line == transfer.link);
        line = transfer.link;
      }
    return result;
  }

private:
  void step(int number, ScheduleStep::Kind kind, int channel, int microBatch) {
    ir::Module& stage = stages[size_t(number)];
    for (size_t i = 0; i < stage.transfers.size(); ++i)
      if (stage.transfers[i].channel == channel)
        stage.schedules[0].steps.push_back({kind, {}, int(i), microBatch});
  }

  std::vector<ir::Module> stages;
};

TEST(Lines, aStageHasOneToEachNeighbour) {
  Stages stages(3);
  stages.channel(0, 0, 1);
  stages.channel(1, 0, 1);
  stages.channel(2, 1, 2);
  stages.channel(3, 1, 0);
  for (int microBatch : {0, 1})
    for (int channel : {0, 1}) {
      stages.send(0, channel, microBatch);
      stages.receive(1, channel, microBatch);
    }
  EXPECT_EQ(stages.lines(4), (std::vector<int>{0, 0, 2, 1}));
}

/// The first chunk sends to the second and to the fourth chunk, which are on
/// one stage. Both messages are sent at once, and the one to the fourth is
/// received much later. The message from the third to the fourth chunk is
/// received after it.
TEST(Lines, messagesThatOvertakeOthersHaveTheirOwn) {
  Stages stages(2);
  const int next = 0, skip = 1, last = 2;
  stages.channel(next, 0, 1);
  stages.channel(skip, 0, 1);
  stages.channel(last, 0, 1);
  for (int microBatch : {0, 1}) {
    stages.send(0, next, microBatch);
    stages.send(0, skip, microBatch);
    stages.receive(1, next, microBatch);
  }
  for (int microBatch : {0, 1}) {
    stages.send(0, last, microBatch);
    stages.receive(1, skip, microBatch);
    stages.receive(1, last, microBatch);
  }
  EXPECT_EQ(stages.lines(3), (std::vector<int>{0, 1, 0}));
}

} // namespace
} // namespace recipec::passes
