// Layouts with the costs of their layers.

#include "compiler/search/Nodes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace recipec::search {
namespace {

bool has(const Settings& settings, const std::string& text) {
  return std::find(settings.begin(), settings.end(), text) != settings.end();
}

int64_t valueOf(const Settings& settings, const std::string& path) {
  for (const std::string& each : settings)
    if (each.starts_with(path + "="))
      return std::stoll(each.substr(path.size() + 1));
  return 1;
}

/// A model of eight layers on one of up to four ranks. A layer takes 100 bytes
/// of activations; less, and more time, with recomputation.
class FourRanks : public testing::Test {
protected:
  const Facts facts{
      .ranks = 4, .globalBatch = 32, .layers = 8, .depths = {4, 5}};
  const WrittenLayout written{};
  std::vector<Settings> compiled;
  const Compile compile = [this](const std::vector<Settings>& trials) {
    std::vector<Outcome> outcomes;
    for (const Settings& each : trials) {
      compiled.push_back(each);
      outcomes.push_back(outcomeOf(each));
    }
    return outcomes;
  };
  Nodes nodes{facts, written, compile};
  int64_t capacity = 10'000;

  Outcome outcomeOf(const Settings& settings) const {
    const int64_t layers = valueOf(settings, "model.layers");
    const int64_t batch =
        valueOf(settings, "batch.global") / valueOf(settings, "cluster.ranks");
    Outcome outcome;
    outcome.isValid = !has(settings, "memory.offload_layers=4") &&
                      !has(settings, "memory.offload_layers=5");
    double pass = 3;
    int64_t kept = 100;
    if (has(settings, "memory.recompute=\"full\"")) {
      pass = 4;
      kept = 20;
    }
    if (has(settings, "memory.recompute=\"selective\"")) {
      // "mlp" is slower than "norm" and saves as much.
      pass = has(settings, "memory.recompute_modules=[\"mlp\"]") ? 3.2 : 3.1;
      kept = 80;
    }
    outcome.stepSeconds = double(layers) * (pass * double(batch) + 1);
    outcome.memory.activations = kept * layers;
    outcome.memory.capacity = capacity;
    return outcome;
  }
};

const Activations full{.recompute = "full"};
const Activations norm{.recompute = "selective", .modules = {"norm"}};
const Activations mlp{.recompute = "selective", .modules = {"mlp"}};
const Activations offload{.offloadLayers = 8};

TEST_F(FourRanks, SamplesAreOneStageOfFewLayers) {
  nodes.add({{}});
  ASSERT_EQ(compiled.size(), 4u);
  EXPECT_EQ(compiled[0],
            (Settings{"cluster.ranks=4", "batch.global=16", "model.layers=4"}));
  EXPECT_EQ(compiled[3],
            (Settings{"cluster.ranks=4", "batch.global=32", "model.layers=5"}));
}

TEST(Nodes, OneDepthNeedsHalfOfTheSamples) {
  const Facts facts{
      .ranks = 4, .globalBatch = 32, .layers = 8, .depths = {8, 8}};
  const WrittenLayout written{};
  std::vector<Settings> compiled;
  const Compile compile = [&](const std::vector<Settings>& trials) {
    compiled.insert(compiled.end(), trials.begin(), trials.end());
    std::vector<Outcome> outcomes(trials.size());
    for (Outcome& each : outcomes)
      each.isValid = true;
    return outcomes;
  };
  Nodes nodes(facts, written, compile);
  nodes.add({{}});
  EXPECT_EQ(compiled,
            (std::vector<Settings>{{"cluster.ranks=4", "batch.global=16"},
                                   {"cluster.ranks=4", "batch.global=32"}}));
  EXPECT_TRUE(nodes[0].costs);
}

TEST_F(FourRanks, ALayoutIsSampledOnce) {
  nodes.add({{}, {.pp = 2}, {.split = {.lossAsLayer = true}}});
  nodes.add({{}});
  EXPECT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes.samples(), 4u);
}

/// Two samples instead of four: the others follow from the layout that keeps
/// all activations.
TEST_F(FourRanks, FewerActivationsNeedHalfOfTheSamples) {
  nodes.add({{.activations = full}});
  EXPECT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes.samples(), 6u);
  EXPECT_DOUBLE_EQ(nodes[1].costs->pass.layer, 4);
  EXPECT_DOUBLE_EQ(nodes[1].costs->step.layer, 1);
}

TEST_F(FourRanks, AllPipelinesAreCandidates) {
  nodes.add({{}});
  std::vector<std::pair<int64_t, int64_t>> pipelines;
  for (const Candidate& each : nodes.candidates(0, {}))
    pipelines.emplace_back(each.layout.pp, each.layout.vp);
  EXPECT_EQ(pipelines, (std::vector<std::pair<int64_t, int64_t>>{
                           {1, 1}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}}));
}

/// 800 bytes of eight layers; 80 less for each that is recomputed.
TEST_F(FourRanks, AsFewLayersAreRecomputedAsFit) {
  capacity = 600;
  nodes.add({{.activations = full}});
  const std::vector<Candidate> candidates = nodes.candidates(1, {});
  ASSERT_FALSE(candidates.empty());
  const Candidate& onOneStage = candidates.front();
  EXPECT_EQ(onOneStage.layout.activations.layers, 3);
  EXPECT_TRUE(onOneStage.fits());
  EXPECT_DOUBLE_EQ(onOneStage.prediction.bytes, 560);
}

/// 100 bytes of each of six layers, 20 of each of two.
TEST_F(FourRanks, AWrittenNumberOfLayersIsPredicted) {
  Activations two = full;
  two.layers = 2;
  nodes.add({{.activations = two}});
  const auto candidate = nodes.candidate({.activations = two});
  ASSERT_TRUE(candidate);
  EXPECT_DOUBLE_EQ(candidate->prediction.bytes, 640);
}

TEST_F(FourRanks, NothingIsRecomputedWhereAllFits) {
  nodes.add({{.activations = full}});
  EXPECT_TRUE(nodes.candidates(1, {}).empty());
  EXPECT_FALSE(nodes.candidates(0, {}).empty());
}

/// "mlp" saves as much as "norm" in more time, and offloading is invalid.
TEST_F(FourRanks, UsefulActivations) {
  const std::vector<Activations> choices = {{}, full, norm, mlp, offload};
  std::vector<Layout> layouts;
  for (const Activations& each : choices)
    layouts.push_back({.activations = each});
  nodes.add(layouts);
  EXPECT_EQ(nodes.usefulActivations({}, choices),
            (std::vector<Activations>{{}, full, norm}));
}

} // namespace
} // namespace recipec::search
