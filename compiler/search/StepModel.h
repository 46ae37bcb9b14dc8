// Predicts step time and memory of a layout from compilations of few layers.

#ifndef RECIPEC_SEARCH_STEPMODEL_H
#define RECIPEC_SEARCH_STEPMODEL_H

#include "compiler/search/Facts.h"
#include "compiler/search/Layout.h"
#include "compiler/search/Outcome.h"

#include <array>
#include <optional>

namespace recipec::search {

/// An amount per typical layer, and for everything else together.
struct Linear {
  double layer = 0;
  double rest = 0;

  double of(double layers) const { return layer * layers + rest; }
};

/// The costs of a pipeline stage, as a function of its layers.
struct LayerCosts {
  Linear pass;        // seconds of a micro-batch, forward and backward
  Linear step;        // seconds that each step adds once
  Linear weights;     // bytes of parameters and gradients that a rank has whole
  Linear sharded;     // bytes that data parallelism shards
  Linear activations; // bytes, for one micro-batch in flight
  double fixed = 0;   // bytes of workspace and libraries
  double capacity = 0; // bytes
  int64_t dp = 1;      // data parallelism of the samples
};

/// The compilations that LayerCosts need: on one pipeline stage, at each of the
/// two depths, and with each of two numbers of micro-batches.
constexpr int64_t fewMicroBatches = 4;
constexpr int64_t manyMicroBatches = 8;
struct Samples {
  Outcome shallowFew, shallowMany, deepFew, deepMany;
};

/// Nullopt if one of the compilations is invalid.
std::optional<LayerCosts> layerCosts(const Samples& samples,
                                     const Depths& depths, const Layout& layout,
                                     int64_t dp);

/// Samples of a layout that keeps fewer activations, from compilations with
/// many micro-batches only. The once-a-step time is taken from `all`, the costs
/// of the layout that keeps all activations.
Samples withFewMicroBatches(const Outcome& shallowMany, const Outcome& deepMany,
                            const Depths& depths, const LayerCosts& all);

/// The costs of a stage in which the fraction `share` of layers costs `other`.
LayerCosts mixed(const LayerCosts& one, const LayerCosts& other, double share);

struct Prediction {
  double seconds = 0; // of a step
  double bytes = 0;   // of the stage that takes the most
};

/// Predicts a step of a pipeline: the slowest stage runs all micro-batches, and
/// the first micro-batch passes through the other stages chunk by chunk
/// (Narayanan et al. 2021, section 2.2). Transfers between stages are not
/// counted.
Prediction predict(const LayerCosts& costs, const Facts& facts,
                   const Layout& layout);

} // namespace recipec::search

#endif // RECIPEC_SEARCH_STEPMODEL_H
