// The executor on handwritten plans.

#include "runtime/exec/Executor.h"

#include "runtime/comm/LocalCommunicator.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/Weights.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/PlanJson.h"
#include "test/runtime/plan/SamplePlan.h"

#include <tuple>

#include <gtest/gtest.h>

namespace reciperun::exec {
namespace {

using plan::DType;
using plan::OpKind;

class ExecutorTest : public testing::Test {
protected:
  ExecutorTest() {
    plan.task = "generate"; // no training around it
    plan.device = "cpu";
    plan.mesh.axes = {{"dp", 1}};
    plan.mesh.groups = {{"world", {"dp"}}};
  }

  void make() {
    Status valid = plan::validate(plan);
    ASSERT_TRUE(valid.isOk()) << valid.message();
    auto taken = memory::Arena::allocate(plan.stages[0].memory.arena);
    ASSERT_TRUE(taken);
    arena = std::move(*taken);
    auto made = Executor::make(plan, arena, communicator, device);
    ASSERT_TRUE(made) << made.message();
    executor.emplace(std::move(*made));
  }

  plan::ScheduleStep load(int microBatch) {
    return {plan::ScheduleStep::Kind::load, -1, -1, microBatch};
  }
  plan::ScheduleStep call(int function, int microBatch) {
    return {plan::ScheduleStep::Kind::run, function, -1, microBatch};
  }

  plan::Plan plan = plan::planOfOneStage();
  comm::LocalCommunicator communicator;
  device::CpuDevice device{1, &kernels::findKernel};
  memory::Arena arena;
  std::optional<Executor> executor;
};

TEST_F(ExecutorTest, runsAScheduleOverSlots) {
  // x has two slots; y accumulates 2 x of both.
  int x = plan::addBuffer(plan, "x", DType::f32, {2, 16});
  plan.stages[0].buffers[size_t(x)].shape = {16};
  plan.stages[0].buffers[size_t(x)].slots = 2;
  plan.stages[0].buffers[size_t(x)].slotStride = 64;
  int t = plan::addBuffer(plan, "t", DType::f32, {16});
  int y = plan::addBuffer(plan, "y", DType::f32, {16});
  plan::Op scale = plan::makeOp(OpKind::Scale, "twice", {x}, {t});
  scale.attributes = {{"alpha", 2.0}};
  plan::Op add = plan::makeOp(OpKind::Add, "collect", {y, t}, {y});
  plan::Op reduce = plan::makeOp(OpKind::AllReduce, "sum", {y}, {y});
  reduce.group = 0;
  reduce.attributes = {{"reduce", std::string("sum")}};
  plan.stages[0].functions = {
      {"clear", {plan::makeOp(OpKind::Zero, "clear", {}, {y})}},
      {"micro-batch", {scale, add}},
      {"finish", {reduce}}};
  plan.train.accumulation = 2;
  plan.stages[0].schedules = {
      {"train",
       {call(0, 0), load(0), load(1), call(1, 0), call(1, 1), call(2, 0)}}};
  make();
  ASSERT_EQ(executor->findSchedule("evaluate"), nullptr);
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<int> loads;
    Status status =
        executor->run(*executor->findSchedule("train"), [&](int microBatch) {
          loads.push_back(microBatch);
          Tensor input = executor->tensor(x, microBatch);
          std::fill_n(input.as<float>(), 16, microBatch == 0 ? 1.f : 10.f);
          return Status::ok();
        });
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(loads, (std::vector<int>{0, 1}));
    EXPECT_EQ(executor->tensor(y).as<float>()[15], 22.f);
  }
  EXPECT_FALSE(executor->tensor(-1).present());
}

TEST_F(ExecutorTest, aFrameMovesItsBuffersByTheMicroBatch) {
  const int kept = plan::addBuffer(plan, "kept", DType::f32, {2, 64});
  const int sum = plan::addBuffer(plan, "sum", DType::f32, {64});
  plan::Stage& stage = plan.stages[0];
  stage.buffers[size_t(kept)].shape = {64};
  stage.buffers[size_t(kept)].frame = 0;
  stage.frames = {{{256, 0, 0}}}; // bytes, of the micro-batches modulo 3
  stage.functions = {
      {"clear", {plan::makeOp(OpKind::Zero, "clear", {}, {sum})}},
      {"add", {plan::makeOp(OpKind::Add, "add", {sum, kept}, {sum})}}};
  std::vector<plan::ScheduleStep> steps = {call(0, 0)};
  for (int microBatch = 0; microBatch < 4; ++microBatch) {
    steps.push_back(load(microBatch));
    steps.push_back(call(1, microBatch));
  }
  stage.schedules = {{"train", steps}};
  plan.train.accumulation = 4;
  make();
  EXPECT_EQ(executor->tensor(kept, 0).as<std::byte>(),
            executor->tensor(kept, 1).as<std::byte>() + 256);
  EXPECT_EQ(executor->tensor(kept, 1).data, executor->tensor(kept, 2).data);
  EXPECT_EQ(executor->tensor(kept, 0).data, executor->tensor(kept, 3).data);
  const Status status =
      executor->run(*executor->findSchedule("train"), [&](int microBatch) {
        std::fill_n(executor->tensor(kept, microBatch).as<float>(), 64,
                    float(1 << microBatch));
        return Status::ok();
      });
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(executor->tensor(sum).as<float>()[63], 15.f);
}

/// A job in which no collective ever succeeds.
class BrokenLink : public comm::LocalCommunicator {
public:
  Status run(const comm::Collective&) override {
    return Status::error("the cable is out");
  }
};

TEST_F(ExecutorTest, aFailureNamesOpFunctionAndRank) {
  int x = plan::addBuffer(plan, "x", DType::f32, {4});
  plan::Op reduce = plan::makeOp(OpKind::AllReduce, "layers.0.o", {x}, {x});
  reduce.group = 0;
  reduce.attributes = {{"reduce", std::string("sum")}};
  plan.stages[0].functions = {{"forward", {reduce}}};
  plan.stages[0].schedules = {{"train", {load(0), call(0, 0)}}};
  make();
  const plan::Schedule& schedule = *executor->findSchedule("train");
  BrokenLink broken;
  auto failing = Executor::make(plan, arena, broken, device);
  ASSERT_TRUE(failing);
  auto nothing = [](int) { return Status::ok(); };
  EXPECT_EQ(failing->run(schedule, nothing).message(),
            "op `layers.0.o` (all_reduce) of `forward` on rank 0: the cable is "
            "out");
  auto noData = [](int) { return Status::error("no data"); };
  EXPECT_EQ(executor->run(schedule, noData).message(), "no data");
}

/// A communicator of two ranks. The peer sends what this rank sends, when
/// waited for.
class Echo : public comm::LocalCommunicator {
public:
  using comm::LocalCommunicator::begin;
  Expected<int> begin(const comm::Collective& collective) override {
    if (collective.kind == comm::Collective::Kind::shift)
      return beginShift(collective.shifts);
    Tensor in = collective.in;
    const Tensor out = collective.out;
    if (collective.kind == comm::Collective::Kind::reduceScatter)
      in.shape = halfShape;
    pending = [=] {
      std::copy_n(in.as<float>(), in.elements(), out.as<float>());
      std::copy_n(in.as<float>(), in.elements(),
                  out.as<float>() + in.elements());
    };
    return 7;
  }
  Status finish(int message) override {
    EXPECT_EQ(message, 7);
    pending();
    return Status::ok();
  }

  std::vector<int64_t> halfShape;

private:
  Expected<int> beginShift(std::span<const comm::Shift> shifts) {
    pending = [all = std::vector(shifts.begin(), shifts.end())] {
      for (const comm::Shift& shift : all)
        std::copy_n(shift.out.as<float>(), shift.out.elements(),
                    shift.in.as<float>());
    };
    return 7;
  }

  std::function<void()> pending;
};

TEST_F(ExecutorTest, aCollectiveEndsWhereItIsDone) {
  int part = plan::addBuffer(plan, "part", DType::f32, {2});
  int whole = plan::addBuffer(plan, "whole", DType::f32, {4});
  int terms = plan::addBuffer(plan, "terms", DType::f32, {4});
  int sum = plan::addBuffer(plan, "sum", DType::f32, {2});
  auto half = [&](OpKind kind, std::vector<int> in, int out) {
    plan::Op op = plan::makeOp(kind, "half", std::move(in), {out});
    op.group = 0;
    return op;
  };
  plan::Op gather = half(OpKind::AllGatherStart, {part}, whole);
  plan::Op gathered = half(OpKind::AllGatherDone, {whole, part}, whole);
  plan.stages[0].functions = {
      {"gather", {gather, gathered}},
      {"scatter",
       {half(OpKind::ReduceScatterStart, {whole}, terms),
        half(OpKind::ReduceScatterDone, {terms, whole}, sum)}},
      {"twice", {gather, gather}},
      {"never", {gathered, gathered}}};
  plan.stages[0].schedules = {
      {"train", {load(0), call(0, 0), call(1, 0), call(2, 0), call(3, 0)}}};
  plan.mesh.axes = {{"dp", 2}};
  plan.mesh.groups = {{"dp", {"dp"}}};
  plan.mesh.ranks = 2;
  make();
  Echo echo;
  echo.halfShape = {2};
  auto made = Executor::make(plan, arena, echo, device);
  ASSERT_TRUE(made);
  float* values = made->tensor(part).as<float>();
  values[0] = 1;
  values[1] = 2;
  ASSERT_TRUE(made->run(0).isOk());
  EXPECT_EQ(made->tensor(whole).as<float>()[3], 2);
  ASSERT_TRUE(made->run(1).isOk());
  EXPECT_EQ(made->tensor(sum).as<float>()[0], 2);
  EXPECT_EQ(made->tensor(sum).as<float>()[1], 4);
  EXPECT_NE(made->run(2).message().find("is being filled already"),
            std::string::npos);
  EXPECT_NE(made->run(3).message().find("nothing has begun to fill"),
            std::string::npos);
}

TEST_F(ExecutorTest, aShiftFillsAllItsBuffersWhereItIsDone) {
  std::vector<int> numbers;
  for (const char* name : {"k", "v", "next k", "next v"})
    numbers.push_back(plan::addBuffer(plan, name, DType::f32, {3}));
  const auto [k, v, nextK, nextV] =
      std::tuple(numbers[0], numbers[1], numbers[2], numbers[3]);
  plan::Op start = plan::makeOp(OpKind::RingShiftStart, "shift", {k, v, -1, -1},
                                {nextK, nextV, -1, -1});
  plan::Op done = plan::makeOp(OpKind::RingShiftDone, "shift",
                               {nextK, nextV, -1, -1, k, v, -1, -1},
                               {nextK, nextV, -1, -1});
  start.group = done.group = 0;
  plan.stages[0].functions = {{"start", {start}}, {"done", {done}}};
  plan.stages[0].schedules = {{"train", {call(0, 0), call(1, 0)}}};
  make();
  Echo echo;
  auto made = Executor::make(plan, arena, echo, device);
  ASSERT_TRUE(made);
  std::fill_n(made->tensor(k).as<float>(), 3, 4.f);
  std::fill_n(made->tensor(v).as<float>(), 3, 5.f);
  ASSERT_TRUE(made->run(0).isOk());
  EXPECT_EQ(made->tensor(nextK).as<float>()[2], 0);
  ASSERT_TRUE(made->run(1).isOk());
  EXPECT_EQ(made->tensor(nextK).as<float>()[2], 4);
  EXPECT_EQ(made->tensor(nextV).as<float>()[2], 5);
  EXPECT_NE(made->run(1).message().find("nothing has begun to fill"),
            std::string::npos);
}

TEST_F(ExecutorTest, mastersAreTheParametersWidened) {
  plan.compute = DType::bf16;
  int value = plan::addBuffer(plan, "w", DType::bf16, {4, 32});
  int flat = plan::addBuffer(plan, "flat", DType::bf16, {1});
  plan.stages[0].buffers[size_t(flat)] = plan.stages[0].buffers[size_t(value)];
  plan.stages[0].buffers[size_t(flat)].shape = {128};
  int master = plan::addBuffer(plan, "master", DType::f32, {128});
  plan::Parameter parameter;
  parameter.name = "w";
  parameter.globalShape = {4, 32};
  parameter.shardAxes = {"", ""};
  parameter.init = {"normal", 0.02};
  plan.parameters = {parameter};
  plan.stages[0].holdings = {{0, value, -1}};
  plan::Region region;
  region.name = "decayed";
  region.elements = 128;
  region.param = region.part = flat;
  region.master = master;
  region.parameters = {0};
  region.starts = {0};
  plan.stages[0].regions = {region};
  make();
  ASSERT_TRUE(initializeParameters(plan, *executor, 0, 1).isOk());
  ASSERT_TRUE(fillMasters(plan, *executor, 0).isOk());
  const auto* narrow = executor->tensor(value).as<device::bf16>();
  const float* wide = executor->tensor(master).as<float>();
  double squares = 0;
  for (int i = 0; i < 128; ++i) {
    ASSERT_EQ(float(narrow[i]), wide[i]);
    squares += double(wide[i]) * wide[i];
  }
  // 128 draws: the mean square differs from 0.02^2 by more than half only once
  // in 10^4 seeds.
  EXPECT_NEAR(squares / 128, 4e-4, 2e-4);
}

} // namespace
} // namespace reciperun::exec
