// Step time and memory of pipelines, from the costs of a layer.

#include "compiler/search/StepModel.h"

#include <gtest/gtest.h>

namespace recipec::search {
namespace {

/// A layer takes 2 s a micro-batch and 1 s once a step, and 10 bytes of
/// weights, 40 bytes that are sharded and 5 bytes of activations.
Outcome compiled(int64_t layers, int64_t microBatches) {
  Outcome outcome;
  outcome.isValid = true;
  outcome.stepSeconds = double(layers * (2 * microBatches + 1));
  outcome.memory.parameters = 6 * layers;
  outcome.memory.gradients = 4 * layers;
  outcome.memory.optimizer = 40 * layers;
  outcome.memory.activations = 5 * layers + 3;
  outcome.memory.workspace = 100;
  outcome.memory.capacity = 1000;
  return outcome;
}

Samples samples() {
  return {compiled(4, fewMicroBatches), compiled(4, manyMicroBatches),
          compiled(5, fewMicroBatches), compiled(5, manyMicroBatches)};
}

Facts eightLayers() {
  return {.ranks = 8, .globalBatch = 64, .layers = 8, .depths = {4, 5}};
}

LayerCosts costs() {
  return *layerCosts(samples(), {4, 5}, {}, 2);
}

TEST(StepModel, ALayerIsTheDifferenceOfTheDepths) {
  EXPECT_DOUBLE_EQ(costs().pass.layer, 2);
  EXPECT_DOUBLE_EQ(costs().pass.rest, 0);
  EXPECT_DOUBLE_EQ(costs().step.layer, 1);
  EXPECT_DOUBLE_EQ(costs().weights.layer, 10);
  EXPECT_DOUBLE_EQ(costs().sharded.layer, 40);
  EXPECT_DOUBLE_EQ(costs().activations.layer, 5);
  EXPECT_DOUBLE_EQ(costs().activations.rest, 3);
}

TEST(StepModel, AnInvalidSampleHasNoCosts) {
  Samples broken = samples();
  broken.deepFew.isValid = false;
  EXPECT_FALSE(layerCosts(broken, {4, 5}, {}, 2));
}

/// A model whose layers cannot be set is compiled at its full depth.
TEST(StepModel, OneDepthIsDividedByItsLayers) {
  const Samples full{
      compiled(8, fewMicroBatches), compiled(8, manyMicroBatches),
      compiled(8, fewMicroBatches), compiled(8, manyMicroBatches)};
  const LayerCosts costs = *layerCosts(full, {8, 8}, {}, 2);
  EXPECT_DOUBLE_EQ(costs.pass.layer, 2);
  EXPECT_DOUBLE_EQ(costs.activations.layer, 43. / 8);
  EXPECT_DOUBLE_EQ(costs.activations.rest, 0);
}

TEST(StepModel, AModelWithoutLayersHasOneStage) {
  const Samples full{
      compiled(8, fewMicroBatches), compiled(8, manyMicroBatches),
      compiled(8, fewMicroBatches), compiled(8, manyMicroBatches)};
  Facts facts = eightLayers();
  facts.layers = 0;
  facts.depths = {0, 0};
  const LayerCosts costs = *layerCosts(full, facts.depths, {}, 8);
  EXPECT_DOUBLE_EQ(predict(costs, facts, {}).seconds, 8 * (8 * 2 + 1));
}

/// Two depths that peak at different ops would give negative activations.
TEST(StepModel, ActivationsOfALayerAreNotNegative) {
  Samples odd = samples();
  odd.shallowMany.memory.activations = 1000;
  EXPECT_DOUBLE_EQ(layerCosts(odd, {4, 5}, {}, 2)->activations.layer, 28.0 / 5);
}

TEST(StepModel, FewMicroBatchesFollowFromMany) {
  const Samples derived =
      withFewMicroBatches(compiled(4, manyMicroBatches),
                          compiled(5, manyMicroBatches), {4, 5}, costs());
  EXPECT_DOUBLE_EQ(derived.shallowFew.stepSeconds,
                   compiled(4, fewMicroBatches).stepSeconds);
  EXPECT_DOUBLE_EQ(derived.deepFew.stepSeconds,
                   compiled(5, fewMicroBatches).stepSeconds);
}

TEST(StepModel, OneStageRunsAllLayers) {
  const Prediction step = predict(costs(), eightLayers(), {});
  EXPECT_DOUBLE_EQ(step.seconds, 8 * (8 * 2 + 1)); // 8 micro-batches, dp 8
  EXPECT_DOUBLE_EQ(step.bytes, 8 * 10 + 8 * 40 / 4. + 8 * 5 + 3 + 100);
}

/// (m + (p - 1) / v) passes of a stage: Narayanan et al. 2021, section 2.2.
TEST(StepModel, ChunksShortenTheBubble) {
  const double stage = 4 * 2, once = 4;
  EXPECT_DOUBLE_EQ(predict(costs(), eightLayers(), {.pp = 2}).seconds,
                   16 * stage + once + stage);
  EXPECT_DOUBLE_EQ(predict(costs(), eightLayers(), {.pp = 2, .vp = 4}).seconds,
                   16 * stage + once + stage / 4);
}

/// The first stage holds a micro-batch for each stage, or more with chunks.
TEST(StepModel, MicroBatchesInFlightTakeMemory) {
  const double weights = 4 * 10 + 4 * 40 / 2. + 100;
  EXPECT_DOUBLE_EQ(predict(costs(), eightLayers(), {.pp = 2}).bytes,
                   weights + 4 * 5 * 2 + 5 / 2.);
  EXPECT_DOUBLE_EQ(predict(costs(), eightLayers(), {.pp = 2, .vp = 2}).bytes,
                   weights + 2 * 5 * 5 + 5 / 2.);
}

TEST(StepModel, TheSlowestStageDecides) {
  const Layout uneven{.pp = 2, .split = {.layers = std::vector<int64_t>{6, 2}}};
  EXPECT_DOUBLE_EQ(predict(costs(), eightLayers(), uneven).seconds,
                   16 * 12 + 6 + 4);
}

TEST(StepModel, LayersOfTwoKindsAreMixed) {
  LayerCosts recomputed = costs();
  recomputed.pass.layer = 3;
  recomputed.activations.layer = 1;
  const LayerCosts half = mixed(costs(), recomputed, 0.5);
  EXPECT_DOUBLE_EQ(half.pass.layer, 2.5);
  EXPECT_DOUBLE_EQ(half.activations.layer, 3);
}

} // namespace
} // namespace recipec::search
