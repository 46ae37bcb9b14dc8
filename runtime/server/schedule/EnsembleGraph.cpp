// See EnsembleGraph.h.

#include "runtime/server/schedule/EnsembleGraph.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>

namespace reciperun::server {
namespace {

EnsembleStep stepOf(const inference::ModelEnsembling::Step& given,
                    const inference::ModelConfig& model) {
  EnsembleStep step{.model = given.model_name(),
                    .version = given.model_version() > 0
                                   ? int64_t(given.model_version())
                                   : -1};
  step.inputs.insert(given.input_map().begin(), given.input_map().end());
  step.outputs.insert(given.output_map().begin(), given.output_map().end());
  step.batches = model.max_batch_size() > 0;
  step.isDecoupled = model.model_transaction_policy().decoupled();
  for (const inference::ModelInput& input : model.input()) {
    step.ranks[input.name()] = size_t(input.dims_size()) + step.batches;
    if (!input.optional())
      step.required.insert(input.name());
  }
  return step;
}

/// Finds the last decoupled step that the inputs of each step depend on. A
/// verified ensemble has no cycle, so that as many rounds as steps are enough.
void findSources(std::vector<EnsembleStep>& steps) {
  std::map<std::string, int64_t> sources; // of tensors
  std::map<int64_t, size_t> depths{{-1, 0}};
  for (size_t round = 0; round < steps.size(); ++round)
    for (size_t i = 0; i < steps.size(); ++i) {
      EnsembleStep& step = steps[i];
      for (const auto& [input, tensor] : step.inputs)
        if (const auto found = sources.find(tensor);
            found != sources.end() &&
            depths[found->second] > depths[step.source])
          step.source = found->second;
      const int64_t own = step.isDecoupled ? int64_t(i) : step.source;
      if (step.isDecoupled)
        depths[own] = depths[step.source] + 1;
      for (const auto& [output, tensor] : step.outputs)
        sources[tensor] = own;
    }
}

} // namespace

EnsembleGraph
ensembleGraphOf(const inference::ModelConfig& ensemble,
                const std::function<SharedConfig(const std::string& model,
                                                 int64_t version)>& configOf) {
  EnsembleGraph graph;
  graph.name = ensemble.name();
  graph.batches = ensemble.max_batch_size() > 0;
  const inference::ModelEnsembling& given = ensemble.ensemble_scheduling();
  graph.mostInflight = given.max_inflight_requests();
  for (const inference::ModelEnsembling::Step& each : given.step()) {
    const int64_t version =
        each.model_version() > 0 ? int64_t(each.model_version()) : -1;
    graph.steps.push_back(stepOf(each, *configOf(each.model_name(), version)));
  }
  findSources(graph.steps);
  for (const inference::ModelOutput& output : ensemble.output())
    graph.outputs.push_back(output.name());
  graph.isDecoupled =
      std::ranges::any_of(graph.steps, &EnsembleStep::isDecoupled);
  return graph;
}

} // namespace reciperun::server
