// The order of passes, and the number of micro-batches in flight.

#include "compiler/passes/schedule/PipelineOrder.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace recipec::passes {
namespace {

/// `F0 F1 B0 ...`, with the chunk's letter if there are several chunks.
std::string text(const Pipeline& pipeline, int stage) {
  std::string result;
  for (const Pass& pass : pipelineOrder(pipeline, stage)) {
    result += result.empty() ? "" : " ";
    result += (pass.isBackward ? "B" : "F") + std::to_string(pass.microBatch);
    if (pipeline.chunks > 1)
      result += char('a' + pass.chunk);
  }
  return result;
}

TEST(PipelineOrder, OneForwardOneBackward) {
  Pipeline pipeline{"1f1b", 3, 1, 4};
  EXPECT_EQ(text(pipeline, 0), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(text(pipeline, 1), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text(pipeline, 2), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(PipelineOrder, AllForwardFirst) {
  EXPECT_EQ(text({"gpipe", 2, 1, 3}, 1), "F0 F1 F2 B0 B1 B2");
}

TEST(PipelineOrder, ChunksInGroupsOfMicroBatches) {
  EXPECT_EQ(text({"interleaved", 2, 2, 2}, 1),
            "F0a F1a F0b B0b F1b B1b B0a B1a");
}

TEST(PipelineOrder, EachPassOnceAndForwardFirst) {
  for (const char* kind : {"1f1b", "gpipe", "interleaved"})
    for (int stages : {1, 2, 4})
      for (int groups : {1, 3}) {
        int chunks = std::string(kind) == "interleaved" ? 3 : 1;
        Pipeline pipeline{kind, stages, chunks, stages * groups};
        for (int stage = 0; stage < stages; ++stage) {
          std::set<std::tuple<bool, int, int>> seen;
          for (const Pass& pass : pipelineOrder(pipeline, stage)) {
            EXPECT_TRUE(
                seen.insert({pass.isBackward, pass.chunk, pass.microBatch})
                    .second);
            if (pass.isBackward)
              EXPECT_TRUE(seen.contains({false, pass.chunk, pass.microBatch}));
          }
          EXPECT_EQ(seen.size(), size_t(2 * chunks * stages * groups));
        }
      }
}

TEST(PipelineOrder, InFlightIsTheDepthThatFollows) {
  Pipeline pipeline{"1f1b", 4, 1, 16};
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_EQ(inFlight(pipelineOrder(pipeline, stage), 0), 4 - stage);
  pipeline.microBatches = 2; // fewer than stages
  EXPECT_EQ(inFlight(pipelineOrder(pipeline, 0), 0), 2);
  pipeline = {"gpipe", 4, 1, 16};
  EXPECT_EQ(inFlight(pipelineOrder(pipeline, 3), 0), 16);
}

} // namespace
} // namespace recipec::passes
