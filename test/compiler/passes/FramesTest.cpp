// The frames of chunks: apart while they are alive, and no more than are alive.

#include "compiler/passes/memory/Frames.h"
#include "compiler/passes/memory/PlanMemory.h"
#include "compiler/passes/schedule/PipelineOrder.h"

#include "runtime/ops/OpKind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

constexpr int64_t rowBytes = 1024;

std::string name(bool isBackward, int chunk) {
  return (isBackward ? "backward." : "forward.") + std::to_string(chunk);
}

/// A stage of a pipeline. Chunk c keeps one value of `rows[c]` rows. What it
/// receives begins to arrive one run earlier than it is read.
ir::Module stageOf(const Pipeline& pipeline, const std::vector<Pass>& order,
                   const std::vector<int64_t>& rows,
                   FrameKind kind = FrameKind::computed) {
  ir::Module stage;
  stage.isProgram = true;
  stage.stages = pipeline.stages;
  for (int chunk = 0; chunk < pipeline.chunks; ++chunk) {
    ir::Value kept;
    kept.name = "kept." + std::to_string(chunk);
    kept.kind = kind == FrameKind::received ? ir::ValueKind::received
                                            : ir::ValueKind::saved;
    kept.type = ir::DType::f32;
    kept.dims = {ir::constantDim(stage, rows[size_t(chunk)] * rowBytes / 4)};
    kept.sharding.dims = {{}};
    kept.onHost = kind == FrameKind::onHost;
    kept.frameChunk = chunk;
    const ir::ValueId value = ir::addValue(stage, kept);
    for (bool isBackward : {false, true}) {
      ir::Function function;
      function.name = name(isBackward, chunk);
      function.chunk = chunk;
      ir::Op op{};
      op.kind = isBackward ? ir::OpKind::Scale : ir::OpKind::Zero;
      op.operands.assign(isBackward ? 1 : 0, value);
      op.results = {value};
      function.ops.push_back(op);
      stage.functions.push_back(function);
    }
    ir::Transfer transfer;
    transfer.kind = ir::Transfer::Kind::receive;
    transfer.value = value;
    transfer.function = name(false, chunk);
    stage.transfers.push_back(transfer);
  }
  using Kind = ir::ScheduleStep::Kind;
  ir::Schedule train{"train", {}};
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = i == 0 ? 0 : i + 1; j < i + 2 && j < order.size(); ++j)
      if (kind == FrameKind::received && !order[j].isBackward)
        train.steps.push_back(
            {Kind::receive, "", order[j].chunk, order[j].microBatch});
    train.steps.push_back({Kind::run, name(order[i].isBackward, order[i].chunk),
                           -1, order[i].microBatch});
  }
  stage.schedules.push_back(train);
  return stage;
}

/// Goes through the schedule, and expects that no two live frames share a byte.
/// Returns the most bytes that are alive at once.
int64_t liveBytes(const ir::Module& stage,
                  const std::vector<ir::Placement>& placements) {
  std::map<int, ir::Placement> placementOf; // by chunk
  for (const ir::Placement& placement : placements)
    placementOf[stage[placement.value].frameChunk] = placement;
  std::map<int64_t, int64_t> alive; // begin → end
  int64_t bytes = 0, most = 0;
  for (const ir::ScheduleStep& step : stage.schedules[0].steps) {
    const int chunk = step.transfer >= 0
                          ? step.transfer
                          : ir::findFunction(stage, step.function)->chunk;
    const ir::Placement& placement = placementOf.at(chunk);
    const auto& offsets = stage.frames[size_t(placement.frame)].offsets;
    const int64_t begin =
        placement.offset + offsets[size_t(step.microBatch) % offsets.size()];
    const int64_t end = begin + placement.bytes;
    if (step.function.starts_with("backward")) {
      EXPECT_EQ(alive.erase(begin), 1u);
      bytes -= placement.bytes;
      continue;
    }
    if (step.transfer < 0 &&
        stage[placement.value].kind == ir::ValueKind::received)
      continue; // it has arrived, or arrives
    for (const auto& [otherBegin, otherEnd] : alive)
      EXPECT_TRUE(end <= otherBegin || otherEnd <= begin)
          << "micro-batch " << step.microBatch << " of chunk " << chunk;
    alive[begin] = end;
    most = std::max(most, bytes += placement.bytes);
  }
  EXPECT_TRUE(alive.empty());
  return most;
}

TEST(Frames, ShareAnAreaOfTheMostThatIsAlive) {
  for (FrameKind kind :
       {FrameKind::computed, FrameKind::received, FrameKind::onHost})
    for (int stages : {2, 4})
      for (int chunks : {2, 3})
        for (int groups : {1, 2, 5})
          for (int number = 0; number < stages; ++number) {
            const Pipeline pipeline{"interleaved", stages, chunks,
                                    stages * groups};
            ir::Module stage =
                stageOf(pipeline, pipelineOrder(pipeline, number),
                        std::vector<int64_t>(size_t(chunks), 3), kind);
            planMemory(stage);
            const bool onHost = kind == FrameKind::onHost;
            const auto& placements =
                onHost ? stage.hostPlacements : stage.placements;
            ASSERT_EQ(placements.size(), size_t(chunks));
            EXPECT_EQ(liveBytes(stage, placements),
                      onHost ? stage.hostBytes : stage.arenaBytes);
            EXPECT_EQ(onHost ? stage.arenaBytes : stage.hostBytes, 0);
          }
}

TEST(Frames, OfDifferentSizesTakeLittleMoreThanIsAlive) {
  for (int number = 0; number < 4; ++number) {
    const Pipeline pipeline{"interleaved", 4, 3, 20};
    const auto order = pipelineOrder(pipeline, number);
    ir::Module stage = stageOf(pipeline, order, {9, 8, 11});
    planMemory(stage);
    const int64_t most = liveBytes(stage, stage.placements);
    EXPECT_LE(stage.arenaBytes * 10, most * 13);
  }
}

TEST(Frames, ArePeriodicWithManyMicroBatches) {
  for (FrameKind kind : {FrameKind::computed, FrameKind::received})
    for (int number = 0; number < 8; ++number) {
      const Pipeline pipeline{"interleaved", 8, 3, 8 * 40};
      ir::Module stage =
          stageOf(pipeline, pipelineOrder(pipeline, number), {3, 2, 3}, kind);
      planMemory(stage);
      for (const ir::Frame& frame : stage.frames)
        EXPECT_LE(frame.offsets.size(), 64u);
      // The first stage has 31 frames of up to three rows alive.
      EXPECT_LE(stage.arenaBytes, (31 + 1) * 3 * rowBytes);
      EXPECT_LE(liveBytes(stage, stage.placements), stage.arenaBytes);
    }
}

TEST(Frames, ListNoMoreMicroBatchesThanDiffer) {
  // One micro-batch after another: each begins with a free area.
  std::vector<Pass> order;
  for (int microBatch = 0; microBatch < 6; ++microBatch)
    for (const auto& [isBackward, chunk] :
         {std::pair(false, 0), {false, 1}, {true, 1}, {true, 0}})
      order.push_back({isBackward, chunk, microBatch});
  ir::Module stage = stageOf({"interleaved", 1, 2, 6}, order, {1, 2});
  planMemory(stage);
  ASSERT_EQ(stage.frames.size(), 2u);
  EXPECT_EQ(stage.frames[0].offsets, std::vector<int64_t>{0});
  EXPECT_EQ(stage.frames[1].offsets, std::vector<int64_t>{rowBytes});
  EXPECT_EQ(stage.arenaBytes, 3 * rowBytes);
}

} // namespace
} // namespace recipec::passes
