// The steps of an ensemble and the tensors between them.

#ifndef RECIPERUN_SERVER_SCHEDULE_ENSEMBLEGRAPH_H
#define RECIPERUN_SERVER_SCHEDULE_ENSEMBLEGRAPH_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

using SharedConfig = std::shared_ptr<const inference::ModelConfig>;

struct EnsembleStep {
  std::string model;
  int64_t version = -1;
  /// The tensors of the ensemble, by the name of the model's input.
  std::map<std::string, std::string> inputs = {};
  /// The tensors of the ensemble, by the name of the model's output.
  std::map<std::string, std::string> outputs = {};
  /// Inputs without which the model does not run.
  std::set<std::string> required = {};
  /// The dimensions of an input with the batch dimension, by its name.
  std::map<std::string, size_t> ranks = {};
  bool batches = false;     // the model has a batch dimension
  bool isDecoupled = false; // any number of responses
  /// The last decoupled step that its inputs depend on; -1: none.
  int64_t source = -1;
};

struct EnsembleGraph {
  std::string name;
  std::vector<EnsembleStep> steps;
  std::vector<std::string> outputs; // of the ensemble
  bool batches = false;
  bool isDecoupled = false; // because of a step
  size_t mostInflight = 0;  // responses of a decoupled step; 0: any number
};

/// The graph of a verified ensemble. `configOf` gives the configuration of a
/// step's model, which must be there.
EnsembleGraph
ensembleGraphOf(const inference::ModelConfig& ensemble,
                const std::function<SharedConfig(const std::string& model,
                                                 int64_t version)>& configOf);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_ENSEMBLEGRAPH_H
