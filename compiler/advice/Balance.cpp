// Unequal pipeline stages: a pipeline is as fast as its slowest stage.
//
// 1. Add up the seconds of a step by layer, and those of the ops before the
//    first layer (the embedding) and after the last (the head and the loss), by
//    the roofline. Communication that overlaps does not count.
// 2. Move a layer from the slowest stage to the fastest one as long as the
//    slowest stage becomes faster.
// 3. Propose the new split if it saves at least a twentieth of the time, and if
//    the stages that get more layers still fit in the device's memory.

#include "compiler/advice/Rules.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <numeric>

namespace recipec::advice {
namespace {

/// A smaller gain is within the error of the estimate.
constexpr double smallGain = 0.05;

/// The seconds of a step, by part of the model.
struct Parts {
  std::vector<double> layers;
  double first = 0; // before the first layer
  double last = 0;  // after the last
};

bool isPass(const ir::Function& function) {
  return function.name.starts_with("forward") ||
         function.name.starts_with("backward");
}

bool overlaps(const ir::Op& op) {
  const ops::Traits& traits = ops::traitsOf(op.kind);
  return traits.starts || traits.finishes;
}

Parts measureParts(const Facts& facts, size_t layers) {
  Parts parts;
  parts.layers.resize(layers);
  for (const ir::Module& stage : facts.stages()) {
    const auto seconds = facts.secondsIn(stage);
    std::map<std::string, int> runs = Facts::runsOf(stage);
    for (const ir::Function& function : stage.functions) {
      const double times = isPass(function) ? runs[function.name] : 0;
      if (times == 0)
        continue;
      const bool isFirst = stage.stage == 0 && function.chunk == 0;
      for (const ir::Op& op : function.ops) {
        if (overlaps(op))
          continue;
        const bool isInLayer = op.layer >= 0 && size_t(op.layer) < layers;
        (isInLayer ? parts.layers[size_t(op.layer)]
         : isFirst ? parts.first
                   : parts.last) += times * seconds(op);
      }
    }
  }
  return parts;
}

/// The layers of each chunk, in the order of the model.
using Split = std::vector<int64_t>;

std::vector<double> secondsOfStages(const Parts& parts, const Split& split,
                                    int64_t stages) {
  std::vector<double> seconds(size_t(stages), 0.0);
  seconds.front() += parts.first;
  seconds.back() += parts.last;
  size_t layer = 0;
  for (size_t chunk = 0; chunk < split.size(); ++chunk)
    for (int64_t i = 0; i < split[chunk]; ++i)
      seconds[chunk % size_t(stages)] += parts.layers[layer++];
  return seconds;
}

/// The chunk of a stage with the most layers, or with the fewest.
size_t chunkOf(const Split& split, size_t stage, int64_t stages, bool most) {
  size_t found = stage;
  for (size_t chunk = stage; chunk < split.size(); chunk += size_t(stages))
    if (most ? split[chunk] >= split[found] : split[chunk] < split[found])
      found = chunk;
  return found;
}

Split balanced(const Parts& parts, Split split, int64_t stages) {
  while (true) {
    const std::vector<double> seconds = secondsOfStages(parts, split, stages);
    const auto slowest = std::max_element(seconds.begin(), seconds.end());
    const auto fastest = std::min_element(seconds.begin(), seconds.end());
    Split next = split;
    int64_t& from =
        next[chunkOf(split, size_t(slowest - seconds.begin()), stages, true)];
    if (from <= 1)
      return split;
    --from;
    ++next[chunkOf(split, size_t(fastest - seconds.begin()), stages, false)];
    const std::vector<double> after = secondsOfStages(parts, next, stages);
    if (*std::max_element(after.begin(), after.end()) >= *slowest)
      return split;
    split = std::move(next);
  }
}

int64_t layersOf(const Split& split, size_t stage, int64_t stages) {
  int64_t layers = 0;
  for (size_t chunk = stage; chunk < split.size(); chunk += size_t(stages))
    layers += split[chunk];
  return layers;
}

/// Whether each stage has enough memory for its layers in the split `next`.
bool fits(const Facts& facts, const Split& split, const Split& next) {
  const int64_t stages = facts.degree("pp");
  for (size_t i = 0; i < size_t(stages); ++i) {
    const double before = double(layersOf(split, i, stages));
    const double after = double(layersOf(next, i, stages));
    const cost::MemoryTable& memory = facts.estimate().stages[i];
    if (before == 0 ||
        double(memory.total) + (after / before - 1) * double(memory.arena) >
            double(memory.capacity))
      return false;
  }
  return true;
}

Split splitOf(const recipe::Recipe& recipe) {
  Split split;
  for (const recipe::Value& each :
       std::get<recipe::List>(recipe.at("parallel.chunk_layers").data))
    split.push_back(std::get<int64_t>(each.data));
  return split;
}

std::string written(const Split& split) {
  std::string text;
  for (int64_t layers : split)
    text += (text.empty() ? "" : ", ") + std::to_string(layers);
  return "[" + text + "]";
}

/// "the embedding takes as long as 0.1 layers, the head and the loss as 2.4".
std::string outerParts(const Parts& parts) {
  const double layer =
      std::accumulate(parts.layers.begin(), parts.layers.end(), 0.0) /
      double(parts.layers.size());
  return "by the estimate the embedding takes as long as " +
         decimal(parts.first / layer) +
         " layers, and the head with the loss "
         "as long as " +
         decimal(parts.last / layer);
}

} // namespace

void adviseBalance(const Facts& facts, diag::Engine& engine) {
  const int64_t stages = facts.degree("pp");
  const std::optional<int64_t> layers = facts.sizeOfModel("layers");
  if (stages == 1 || !layers)
    return;
  const Split split = splitOf(facts.recipe());
  const Parts parts = measureParts(facts, size_t(*layers));
  const Split next = balanced(parts, split, stages);
  const std::vector<double> seconds = secondsOfStages(parts, split, stages);
  const std::vector<double> after = secondsOfStages(parts, next, stages);
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  const double gain =
      1 - *std::max_element(after.begin(), after.end()) / *slowest;
  if (gain < smallGain || !fits(facts, split, next))
    return;
  const double mean =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / double(stages);
  auto builder = engine.report(
      diag::Kind::UnbalancedStages,
      facts.placeOf({"parallel.layers", "parallel.pp"}),
      "stage " + std::to_string(slowest - seconds.begin()) + " of " +
          std::to_string(stages) + " computes " + percent(*slowest / mean - 1) +
          " longer than the stages' average, and the others wait for it");
  builder.note(outerParts(parts) +
               "; NVIDIA's guide gives the first and the last stage fewer "
               "layers (Megatron Bridge, performance guide)");
  facts.propose(builder, "parallel", {{"layers", written(next)}},
                "split the layers by their time: ",
                " makes the slowest stage " + percent(gain) + " faster");
}

} // namespace recipec::advice
