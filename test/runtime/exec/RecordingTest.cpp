// When the executor records functions for a device, and when it does not.

#include "runtime/comm/LocalCommunicator.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/PlanJson.h"
#include "test/runtime/plan/SamplePlan.h"

#include <optional>

#include <gtest/gtest.h>

namespace reciperun::exec {
namespace {

using plan::DType;
using plan::OpKind;

/// A CPU device that records every op but one kind.
class RecordingDevice final : public device::Device {
public:
  std::string name() const override { return "a device that records"; }
  bool hasKernel(OpKind) const override { return true; }
  Status run(const device::OpCall& call) override {
    if (isRecording && call.op.kind == unrecordable)
      return Status::error("it waits for the host");
    if (isRecording) {
      recorded.push_back(call);
      return Status::ok();
    }
    ++ops;
    return inner.run(call);
  }
  Expected<bool> isIdle() override { return true; }
  Expected<memory::Arena> allocate(int64_t bytes, int64_t host) override {
    return inner.allocate(bytes, host);
  }
  bool isHost() const override { return true; }
  Status upload(void* to, std::span<const std::byte> from) override {
    return inner.upload(to, from);
  }
  Status download(std::span<std::byte> to, const void* from) override {
    return inner.download(to, from);
  }
  Status copy(std::span<const device::StridedCopy> copies) override {
    return inner.copy(copies);
  }
  Status clear(void* data, int64_t bytes) override {
    return inner.clear(data, bytes);
  }
  int64_t takenBytes() const override { return 0; }
  int mark() override { return inner.mark(); }
  double seconds(int from, int to) const override {
    return inner.seconds(from, to);
  }
  void forgetMarks() override { inner.forgetMarks(); }

  bool records() const override { return true; }
  Status beginRecording() override {
    isRecording = true;
    recorded.clear();
    return Status::ok();
  }
  Expected<std::unique_ptr<device::Recording>> endRecording() override {
    isRecording = false;
    ++recordings;
    return std::unique_ptr<device::Recording>(
        std::make_unique<Calls>(*this, recorded));
  }

  OpKind unrecordable = OpKind::SumSquares;
  int ops = 0; // run one by one
  int recordings = 0;
  int launches = 0; // of recordings

private:
  struct Calls final : device::Recording {
    Calls(RecordingDevice& device, std::vector<device::OpCall> calls)
        : device(device), calls(std::move(calls)) {}
    Status launch() override {
      ++device.launches;
      for (const device::OpCall& call : calls)
        RECIPERUN_TRY(device.inner.run(call));
      return Status::ok();
    }
    RecordingDevice& device;
    std::vector<device::OpCall> calls;
  };

  device::CpuDevice inner{1, &kernels::findKernel};
  bool isRecording = false;
  std::vector<device::OpCall> recorded;
};

class RecordingTest : public testing::Test {
protected:
  RecordingTest() {
    plan.task = "generate"; // no training around it
    plan.device = "cpu";
    plan.mesh.axes = {{"dp", 1}};
    plan.mesh.groups = {{"world", {"dp"}}};
    // x has two slots; y accumulates twice both.
    x = plan::addBuffer(plan, "x", DType::f32, {2, 16});
    plan.stages[0].buffers[size_t(x)].shape = {16};
    plan.stages[0].buffers[size_t(x)].slots = 2;
    plan.stages[0].buffers[size_t(x)].slotStride = 64;
    t = plan::addBuffer(plan, "t", DType::f32, {16});
    y = plan::addBuffer(plan, "y", DType::f32, {16});
    squares = plan::addBuffer(plan, "squares", DType::f64, {1});
    plan::Op scale = plan::makeOp(OpKind::Scale, "twice", {x}, {t});
    scale.attributes = {{"alpha", 2.0}};
    plan.stages[0].functions = {
        {"clear", {plan::makeOp(OpKind::Zero, "clear", {}, {y})}},
        {"collect", {scale, plan::makeOp(OpKind::Add, "add", {y, t}, {y})}}};
    plan.train.accumulation = 2;
    plan.stages[0].schedules = {{"train", {run(0, 0), run(1, 0), run(1, 1)}}};
  }

  static plan::ScheduleStep run(int function, int microBatch) {
    return {plan::ScheduleStep::Kind::run, function, -1, microBatch};
  }

  void make() {
    Status valid = plan::validate(plan);
    ASSERT_TRUE(valid.isOk()) << valid.message();
    auto taken = device.allocate(plan.stages[0].memory.arena,
                                 plan.stages[0].memory.offloaded);
    ASSERT_TRUE(taken);
    arena = std::move(*taken);
    auto made = Executor::make(plan, arena, communicator, device);
    ASSERT_TRUE(made) << made.message();
    executor.emplace(std::move(*made));
    for (int slot = 0; slot < 2; ++slot)
      std::fill_n(executor->tensor(x, slot).as<float>(), 16,
                  slot == 0 ? 1.f : 10.f);
  }

  /// Runs the schedule; y must equal the result without recordings.
  void step() {
    std::fill_n(executor->tensor(y).as<float>(), 16, 5.f);
    device.ops = device.launches = 0;
    Status status = executor->run(*executor->findSchedule("train"),
                                  [](int) { return Status::ok(); });
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(executor->tensor(y).as<float>()[15], 22.f);
  }

  int x, t, y, squares;
  plan::Plan plan = plan::planOfOneStage();
  comm::LocalCommunicator communicator;
  RecordingDevice device;
  memory::Arena arena;
  std::optional<Executor> executor;
};

TEST_F(RecordingTest, theSecondRunOnSlotsIsTheFirstLaunch) {
  make();
  step();
  EXPECT_EQ(device.ops, 5);
  EXPECT_EQ(device.launches, 0);
  for (int repeat = 0; repeat < 2; ++repeat) {
    step();
    EXPECT_EQ(device.ops, 0);
    EXPECT_EQ(device.launches, 3);
  }
  EXPECT_TRUE(executor->takeNotes().empty());
}

TEST_F(RecordingTest, stagesOfAPipelineRehearse) {
  make();
  ASSERT_TRUE(executor->rehearse().isOk());
  EXPECT_EQ(device.ops, 0);
  plan.stages[0].transfers = {{plan::Transfer::Kind::send, t, 1, 0, 0}};
  ASSERT_TRUE(executor->rehearse().isOk());
  // Functions that differ only by slots run once.
  EXPECT_EQ(device.ops, 3);
  EXPECT_EQ(device.recordings, 3);
  EXPECT_EQ(executor->tensor(x, 1).as<float>()[0], 0.f);
  std::fill_n(executor->tensor(x, 0).as<float>(), 16, 1.f);
  std::fill_n(executor->tensor(x, 1).as<float>(), 16, 10.f);
  step();
  EXPECT_EQ(device.ops, 0);
  EXPECT_EQ(device.launches, 3);
  EXPECT_EQ(device.recordings, 3);
}

TEST_F(RecordingTest, opsThatAreFollowedAreRunOneByOne) {
  make();
  step();
  step();
  exec::Observer follower;
  executor->setObserver(&follower);
  step();
  EXPECT_EQ(device.ops, 5);
  executor->setObserver(nullptr);
  step();
  EXPECT_EQ(device.launches, 3);
}

TEST_F(RecordingTest, whatCannotBeRecordedIsToldAndRunOneByOne) {
  plan.stages[0].functions[1].ops.push_back(
      plan::makeOp(OpKind::SumSquares, "norm", {y}, {squares}));
  plan.stages[0].functions[1].ops.back().attributes = {{"scale", 1.0}};
  make();
  step();
  EXPECT_TRUE(executor->takeNotes().empty());
  for (int repeat = 0; repeat < 2; ++repeat) {
    step();
    EXPECT_EQ(device.ops, 6);
    EXPECT_EQ(device.launches, 1);
    const std::vector<std::string> notes = executor->takeNotes();
    ASSERT_EQ(notes.size(), repeat == 0 ? 1u : 0u);
    if (repeat == 1)
      continue;
    EXPECT_EQ(notes[0],
              "`collect` is not launched as one graph, but op by op: op "
              "`norm` (sum_squares) of `collect` on rank 0: it waits for the "
              "host");
  }
}

TEST_F(RecordingTest, bothHalvesOfACopyAreInOneFunction) {
  const int copied = plan::addBuffer(plan, "copied", DType::f32, {16});
  plan.stages[0].buffers[size_t(copied)].host = true;
  plan.stages[0].buffers[size_t(copied)].offset = 0;
  plan.stages[0].memory.offloaded = 64;
  plan.stages[0].functions[0].ops.push_back(
      plan::makeOp(OpKind::CopyBegin, "copy", {y}, {copied}));
  plan.stages[0].functions[1].ops.push_back(
      plan::makeOp(OpKind::CopyEnd, "copied", {y}, {copied}));
  make();
  const std::vector<std::string> notes = executor->takeNotes();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0], "`clear` is not launched as one graph, but op by op: op "
                      "`copy` (copy_begin) has its other half in another "
                      "function");
  EXPECT_EQ(notes[1], "`collect` is not launched as one graph, but op by op: "
                      "op `copied` (copy_end) has its other half in another "
                      "function");
}

TEST_F(RecordingTest, aShiftWithinAFunctionIsRecorded) {
  const int k = plan::addBuffer(plan, "k", DType::f32, {16});
  const int v = plan::addBuffer(plan, "v", DType::f32, {16});
  plan::Op start = plan::makeOp(OpKind::RingShiftStart, "shift", {x, t, -1, -1},
                                {k, v, -1, -1});
  plan::Op done = plan::makeOp(OpKind::RingShiftDone, "shift",
                               {k, v, -1, -1, x, t, -1, -1}, {k, v, -1, -1});
  start.group = done.group = 0;
  plan.stages[0].functions[1].ops.push_back(start);
  plan.stages[0].functions[1].ops.push_back(done);
  make();
  EXPECT_TRUE(executor->takeNotes().empty());
  plan.stages[0].functions[1].ops.pop_back();
  make();
  const std::vector<std::string> notes = executor->takeNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "`collect` is not launched as one graph, but op by op: "
                      "op `shift` (ring_shift_start) has its other half in "
                      "another function");
}

} // namespace
} // namespace reciperun::exec
