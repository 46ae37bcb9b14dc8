// The settings that turn one layout into another.

#include "compiler/search/Layout.h"

#include <gtest/gtest.h>

namespace recipec::search {
namespace {

TEST(Layout, WritesRepeatedLayersOnce) {
  EXPECT_EQ(layersText({4}), "[4]");
  EXPECT_EQ(layersText({4, 4, 4, 1}), "[4] * 3 + [1]");
  EXPECT_EQ(layersText({3, 4, 4, 3}), "[3] + [4] * 2 + [3]");
}

TEST(Layout, TheWrittenLayoutNeedsNoSettings) {
  const WrittenLayout written{{.tp = 2, .vp = 4, .shard = "none"}};
  EXPECT_EQ(settingsFor(written.layout, written), Settings{});
}

TEST(Layout, OnlyDifferencesAreSet) {
  const WrittenLayout written{{.tp = 4, .pp = 2, .vp = 5}};
  Layout layout = written.layout;
  layout.tp = 2;
  layout.micro = 2;
  layout.shard = "parameters";
  EXPECT_EQ(settingsFor(layout, written),
            (Settings{"parallel.tp=2", "parallel.shard=\"parameters\"",
                      "batch.micro=2"}));
}

/// A written `dp` or `schedule` would contradict the new degrees.
TEST(Layout, WrittenValuesThatFollowBecomeAuto) {
  const WrittenLayout written{
      .layout = {.pp = 2}, .setsDp = true, .setsSchedule = true};
  Layout wider = written.layout;
  wider.tp = 2;
  EXPECT_EQ(settingsFor(wider, written),
            (Settings{"parallel.dp=auto", "parallel.tp=2"}));
  Layout interleaved = written.layout;
  interleaved.vp = 2;
  EXPECT_EQ(settingsFor(interleaved, written),
            (Settings{"parallel.vp=2", "parallel.schedule=auto"}));
}

TEST(Layout, AListOfLayersIsTakenBack) {
  const WrittenLayout written{
      {.pp = 2, .split = {.layers = std::vector<int64_t>{4, 3}}}};
  Layout equal = written.layout;
  equal.split = {.lossAsLayer = true};
  EXPECT_EQ(settingsFor(equal, written),
            (Settings{"parallel.loss_as_layer=true", "parallel.layers=auto"}));
}

TEST(Layout, ActivationsOfSomeLayers) {
  const WrittenLayout written{};
  Layout layout;
  layout.activations = {.recompute = "selective",
                        .modules = {"norm", "mlp"},
                        .layers = 3,
                        .offloadLayers = 2};
  EXPECT_EQ(settingsFor(layout, written),
            (Settings{"memory.recompute=\"selective\"",
                      "memory.recompute_modules=[\"norm\", \"mlp\"]",
                      "memory.recompute_layers=3", "memory.offload_layers=2"}));
}

} // namespace
} // namespace recipec::search
