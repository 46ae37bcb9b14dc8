// The schedules of pipelines whose chunks have any numbers of layers, including
// zero, against a simulation of the runtime's messages.

#include "compiler/diag/Render.h"
#include "compiler/driver/Pipeline.h"
#include "test/SourceRoot.h"
#include "test/compiler/cost/MessageSimulation.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace recipec::driver {
namespace {

struct Layout {
  int stages = 1;
  int chunks = 1; // per stage
  int groups = 1; // groups of as many micro-batches as stages
  std::string schedule;
  std::vector<int> layers; // per chunk
  bool skips = false;
};

std::string listOf(const std::vector<int>& numbers) {
  std::string text;
  for (int number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

std::vector<std::string> settingsOf(const Layout& layout) {
  int layers = 0;
  for (int count : layout.layers)
    layers += count;
  return {"cluster.ranks=" + std::to_string(layout.stages),
          "parallel.pp=" + std::to_string(layout.stages),
          "parallel.vp=" + std::to_string(layout.chunks),
          "parallel.schedule=\"" + layout.schedule + "\"",
          "parallel.layers=" + listOf(layout.layers),
          "model.layers=" + std::to_string(layers),
          "model.skips=" + std::string(layout.skips ? "true" : "false"),
          "batch.global=" + std::to_string(layout.stages * layout.groups)};
}

std::string textOf(const Layout& layout) {
  std::string text;
  for (const std::string& setting : settingsOf(layout))
    text += " --set '" + setting + "'";
  return text;
}

Layout draw(std::mt19937& chance) {
  Layout layout;
  layout.stages = 2 + int(chance() % 5);
  layout.chunks = 1 + int(chance() % 3);
  layout.groups = 1 + int(chance() % 4);
  layout.schedule = layout.chunks > 1   ? "interleaved"
                    : chance() % 2 == 0 ? "1f1b"
                                        : "gpipe";
  layout.layers.resize(size_t(layout.stages * layout.chunks));
  for (size_t left = 1 + chance() % (layout.layers.size() + 2); left > 0;
       --left)
    ++layout.layers[chance() % layout.layers.size()];
  layout.skips = chance() % 4 == 0;
  return layout;
}

/// Whether the layout compiles. If it does, its schedules must run to their end
/// in any order of the stages' steps.
bool runs(const Layout& layout, std::mt19937& chance) {
  Session session(RECIPEC_SOURCE_ROOT
                  "/test/compiler/driver/Inputs/chunks.recipe");
  if (!session.open(settingsOf(layout)) || !session.selectOne()) {
    ADD_FAILURE() << diag::render(session.engine, session.sources);
    return false;
  }
  const auto compiled = compile(session, session.engine);
  if (!compiled)
    return false; // splitStages reports an error
  for (const char* schedule : {"train", "evaluate"})
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(cost::runMessages(compiled->stages, schedule, chance), "")
          << schedule << textOf(layout);
  return true;
}

TEST(Schedules, ofAnyListOfLayersRunToTheirEnd) {
  std::mt19937 chance(1);
  int compiled = 0, interleavedWithEmpty = 0;
  for (int i = 0; i < 100; ++i) {
    const Layout layout = draw(chance);
    if (!runs(layout, chance))
      continue;
    ++compiled;
    int empty = 0;
    for (int count : layout.layers)
      empty += count == 0;
    interleavedWithEmpty += layout.chunks > 1 && empty > 1;
  }
  EXPECT_GT(compiled, 50);
  EXPECT_GT(interleavedWithEmpty, 25);
}

/// In each layout a stage with empty chunks gets ahead of its neighbours.
TEST(Schedules, ofSeveralEmptyChunksInARowRunToTheirEnd) {
  std::mt19937 chance(1);
  const std::vector<std::vector<int>> lists = {
      {2, 2, 0, 0, 0, 0},       {2, 2, 1, 0, 0, 1, 1, 1},
      {1, 1, 1, 0, 0, 0, 0, 1}, {2, 1, 1, 0, 0, 0, 0, 0},
      {0, 1, 1, 0, 0, 2, 0, 0}, {1, 1, 1, 0, 1, 1, 2, 0, 0, 0, 0, 1}};
  for (const std::vector<int>& layers : lists)
    for (int groups : {1, 2, 8}) {
      const int chunks = layers.size() == 12 ? 3 : 2;
      const Layout layout{int(layers.size()) / chunks,
                          chunks,
                          groups,
                          "interleaved",
                          layers,
                          false};
      EXPECT_TRUE(runs(layout, chance)) << textOf(layout);
    }
}

} // namespace
} // namespace recipec::driver
