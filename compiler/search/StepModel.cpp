// 1. The differences between the two depths give the cost of a layer, and the
//    differences between the two numbers of micro-batches the cost of a
//    micro-batch.
// 2. A stage has the layers of its chunks. The first stage also has half of the
//    remaining weights, and the last stage the other half and the loss.
// 3. The step takes the time of the slowest stage plus the time to fill the
//    pipeline. The memory is that of the stage that takes the most.

#include "compiler/search/StepModel.h"

#include <algorithm>

namespace recipec::search {
namespace {

/// The line through the amounts at the two depths; through the origin if the
/// depths are equal. If the model does not count its layers, the cost of a
/// layer is 0.
Linear lineThrough(const Depths& depths, double shallow, double deep) {
  if (depths.deep == 0)
    return {0, deep};
  if (!depths.areApart())
    return {deep / double(depths.deep), 0};
  const double layer = (deep - shallow) / double(depths.deep - depths.shallow);
  return {layer, shallow - layer * double(depths.shallow)};
}

double secondsOfPass(const Outcome& few, const Outcome& many) {
  return (many.stepSeconds - few.stepSeconds) /
         double(manyMicroBatches - fewMicroBatches);
}

double secondsOfStep(const Outcome& few, const Outcome& many) {
  return few.stepSeconds - double(fewMicroBatches) * secondsOfPass(few, many);
}

double blend(double one, double other, double share) {
  return one + (other - one) * share;
}

Linear blend(const Linear& one, const Linear& other, double share) {
  return {blend(one.layer, other.layer, share),
          blend(one.rest, other.rest, share)};
}

/// The layers of a stage times the micro-batches whose activations are kept at
/// the same time, by Narayanan et al. 2021 with the warm-up of Megatron-LM's
/// schedules.
double layersInFlight(const Layout& layout, int64_t stage, double layers,
                      int64_t microBatches) {
  const int64_t behind = layout.pp - stage - 1;
  if (layout.vp == 1)
    return layers * double(std::min(microBatches, behind + 1));
  const int64_t chunks = std::min(microBatches * layout.vp,
                                  2 * behind + (layout.vp - 1) * layout.pp + 1);
  return layers / double(layout.vp) * double(chunks);
}

/// The number of layers of each stage. Chunk i is on stage i % pp.
std::vector<double> stageLayers(const Facts& facts, const Layout& layout) {
  std::vector<double> stages(size_t(layout.pp), 0);
  const std::vector<int64_t> chunks = chunkLayers(facts, layout);
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
    stages[chunk % stages.size()] += double(chunks[chunk]);
  return stages;
}

} // namespace

std::optional<LayerCosts> layerCosts(const Samples& samples,
                                     const Depths& depths, const Layout& layout,
                                     int64_t dp) {
  const Outcome& shallow = samples.shallowMany;
  const Outcome& deep = samples.deepMany;
  for (const Outcome* each :
       {&samples.shallowFew, &shallow, &samples.deepFew, &deep})
    if (!each->isValid)
      return std::nullopt;
  auto line = [&](auto amountOf) {
    return lineThrough(depths, double(amountOf(shallow.memory)),
                       double(amountOf(deep.memory)));
  };
  using Table = cost::MemoryTable;
  const bool shardsGradients =
      layout.shard == "gradients" || layout.shard == "parameters";
  auto whole = [&](const Table& table) {
    return (layout.shard == "parameters" ? 0 : table.parameters) +
           (shardsGradients ? 0 : table.gradients) +
           (layout.shard == "none" ? table.optimizer : 0);
  };
  LayerCosts costs;
  costs.pass = lineThrough(
      depths, secondsOfPass(samples.shallowFew, samples.shallowMany),
      secondsOfPass(samples.deepFew, samples.deepMany));
  costs.step = lineThrough(
      depths, secondsOfStep(samples.shallowFew, samples.shallowMany),
      secondsOfStep(samples.deepFew, samples.deepMany));
  costs.weights = line(whole);
  costs.sharded = line([&](const Table& table) {
    return table.parameters + table.gradients + table.optimizer - whole(table);
  });
  costs.activations =
      line([](const Table& table) { return table.activations; });
  // The memory of the two depths peaks at different ops.
  if (costs.activations.layer < 0)
    costs.activations = lineThrough({depths.deep, depths.deep}, 0,
                                    double(deep.memory.activations));
  costs.fixed = double(deep.memory.workspace + deep.memory.library);
  costs.capacity = double(deep.memory.capacity);
  costs.dp = dp;
  return costs;
}

Samples withFewMicroBatches(const Outcome& shallowMany, const Outcome& deepMany,
                            const Depths& depths, const LayerCosts& all) {
  Samples samples{shallowMany, shallowMany, deepMany, deepMany};
  constexpr double part = double(fewMicroBatches) / double(manyMicroBatches);
  auto shorten = [&](Outcome& few, int64_t depth) {
    const double once = all.step.of(double(depth));
    few.stepSeconds = once + part * (few.stepSeconds - once);
  };
  shorten(samples.shallowFew, depths.shallow);
  shorten(samples.deepFew, depths.deep);
  return samples;
}

LayerCosts mixed(const LayerCosts& one, const LayerCosts& other, double share) {
  LayerCosts costs = one;
  costs.pass = blend(one.pass, other.pass, share);
  costs.step = blend(one.step, other.step, share);
  costs.activations = blend(one.activations, other.activations, share);
  costs.fixed = std::max(one.fixed, other.fixed);
  return costs;
}

Prediction predict(const LayerCosts& costs, const Facts& facts,
                   const Layout& layout) {
  const std::vector<double> layers = stageLayers(facts, layout);
  const int64_t microBatches = facts.accumulation(layout);
  const double parts = double(costs.dp) / double(layout.dp(facts.ranks));
  Prediction prediction;
  double passes = 0, slowest = 0, slowestPass = 0;
  for (int64_t stage = 0; stage < layout.pp; ++stage) {
    const double count = layers[size_t(stage)];
    const bool isLast = stage + 1 == layout.pp;
    const double end = layout.pp == 1 ? 1 : isLast || stage == 0 ? 0.5 : 0;
    const double pass = costs.pass.layer * count +
                        (isLast ? std::max(0.0, costs.pass.rest) : 0);
    const double seconds = double(microBatches) * pass +
                           costs.step.layer * count + costs.step.rest * end;
    passes += pass;
    if (seconds > slowest) {
      slowest = seconds;
      slowestPass = pass;
    }
    const double weights =
        costs.weights.layer * count + costs.weights.rest * end +
        parts * (costs.sharded.layer * count + costs.sharded.rest * end);
    const double activations =
        costs.activations.layer *
            layersInFlight(layout, stage, count, microBatches) +
        (isLast ? costs.activations.rest : costs.activations.layer / 2);
    prediction.bytes =
        std::max(prediction.bytes, weights + activations + costs.fixed);
  }
  prediction.seconds = slowest + (passes - slowestPass) /
                                     double(std::max<int64_t>(1, layout.vp));
  return prediction;
}

} // namespace recipec::search
