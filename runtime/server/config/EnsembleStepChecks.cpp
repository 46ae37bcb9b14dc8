// The steps of an ensemble by themselves: see ConfigChecks.h.
//
//   1. Each step names its model and has maps; each tensor has one source.
//   2. All inputs of the ensemble are read, and its outputs are in a map.
//   3. Steps become ready as their inputs do, beginning with the ensemble's;
//      each output of the ensemble must become ready.
//   4. No other tensor is left over.

#include "runtime/server/config/ConfigChecks.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using inference::ModelEnsembling;

constexpr int mostSteps = 1024;
constexpr const char* isUnused = "' is not used";

/// In alphabetical order.
using TensorNames = std::map<std::string, std::string>;

template <class Map> TensorNames inOrder(const Map& map) {
  return {map.begin(), map.end()};
}

/// A tensor between steps, with indices of steps.
struct EnsembleTensor {
  int source = -1; // the step that writes it; -1: none
  std::vector<int> readers;
  bool isReady = false;
};

class StepCheck {
public:
  StepCheck(const ModelConfig& config, ConfigMistakes& found)
      : config(config), given(config.ensemble_scheduling()), found(found) {}

  void run();

private:
  bool add(std::string text, FieldPath where) {
    found.push_back({std::move(text), std::move(where)});
    return false;
  }
  std::string own() const { return "ensemble '" + config.name() + "'"; }

  bool checkFields(int index);
  bool link(int index);
  bool checkEnds();
  void followReady();
  bool checkOutput(int index);
  std::string unreadySource(const std::string& output) const;
  bool checkLeftOver();

  const ModelConfig& config;
  const ModelEnsembling& given;
  ConfigMistakes& found;
  std::map<std::string, EnsembleTensor> tensors;
  std::vector<size_t> missing; // inputs of each step that are not ready
};

void StepCheck::run() {
  const FieldPath scheduling = "ensemble_scheduling";
  if (given.step().empty()) {
    add("must specify 'step' for " + own(), scheduling);
    return;
  }
  if (given.step_size() > mostSteps) {
    add("at most " + std::to_string(mostSteps) + " steps are allowed for " +
            own(),
        scheduling / "step");
    return;
  }
  // Consequences of a mistake are not reported.
  bool isWhole = true;
  for (int i = 0; i < given.step_size(); ++i)
    isWhole = checkFields(i) && isWhole;
  for (int i = 0; isWhole && i < given.step_size(); ++i)
    isWhole = link(i);
  if (!isWhole || !checkEnds())
    return;
  followReady();
  for (int i = 0; i < config.output_size(); ++i)
    isWhole = checkOutput(i) && isWhole;
  if (isWhole)
    checkLeftOver();
}

bool StepCheck::checkFields(int index) {
  const auto& step = given.step(index);
  const std::string place =
      " in step " + std::to_string(index) + " of " + own();
  const FieldPath path = (FieldPath("ensemble_scheduling") / "step")[index];
  if (step.model_name().empty())
    return add("must specify 'model_name'" + place, path);
  if (step.input_map().empty())
    return add("must specify 'input_map'" + place, path);
  if (step.output_map().empty())
    return add("must specify 'output_map'" + place, path);
  return true;
}

bool StepCheck::link(int index) {
  const auto& step = given.step(index);
  for (const auto& entry : inOrder(step.output_map())) {
    const std::string& tensor = entry.second;
    EnsembleTensor& made = tensors[tensor];
    const bool isInput =
        std::ranges::any_of(config.input(), [&](const auto& input) {
          return input.name() == tensor;
        });
    if (made.source >= 0 || isInput)
      return add("ensemble tensor '" + tensor +
                     "' can appear in an output map only once for " + own() +
                     " step " + std::to_string(index),
                 (FieldPath("ensemble_scheduling") / "step")[index]);
    made.source = index;
  }
  std::set<std::string> read;
  for (const auto& [input, tensor] : step.input_map())
    if (read.insert(tensor).second)
      tensors[tensor].readers.push_back(index);
  missing.push_back(read.size());
  return true;
}

/// Checks that the steps use all inputs and outputs of the ensemble.
bool StepCheck::checkEnds() {
  bool isWhole = true;
  // The stray quote is Triton's.
  for (int i = 0; i < config.input_size(); ++i)
    if (const std::string& name = config.input(i).name();
        !tensors.contains(name))
      isWhole = add("ensemble input '" + name + "' for ensemble " +
                        config.name() + isUnused,
                    FieldPath("input")[i]);
  for (int i = 0; i < config.output_size(); ++i)
    if (const std::string& name = config.output(i).name();
        !tensors.contains(name))
      isWhole = add("ensemble output '" + name + "' for ensemble " +
                        config.name() + isUnused,
                    FieldPath("output")[i]);
  return isWhole;
}

/// Marks the tensors that can be computed from the ensemble's inputs.
void StepCheck::followReady() {
  std::deque<EnsembleTensor*> next;
  const auto makeReady = [&](EnsembleTensor& tensor) {
    if (!std::exchange(tensor.isReady, true))
      next.push_back(&tensor);
  };
  for (const auto& input : config.input())
    makeReady(tensors[input.name()]);
  while (!next.empty()) {
    const EnsembleTensor& tensor = *next.front();
    next.pop_front();
    for (const int reader : tensor.readers)
      if (--missing[size_t(reader)] == 0)
        for (const auto& [output, name] : given.step(reader).output_map())
          makeReady(tensors[name]);
  }
}

bool StepCheck::checkOutput(int index) {
  const std::string& name = config.output(index).name();
  if (tensors[name].isReady)
    return true;
  std::string text = "output '" + name + "' for " + own() + " is not written";
  if (const std::string source = unreadySource(name); source != name)
    text += ": at least one of its depending tensors, '" + source +
            "', is not connected";
  return add(std::move(text), FieldPath("output")[index]);
}

/// Follows `output` back through tensors that are not ready, and returns the
/// one that no step writes or, in a cycle, the last one before it closes.
std::string StepCheck::unreadySource(const std::string& output) const {
  std::set<std::string> seen;
  std::string last = output;
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    const int source = tensors.at(last).source;
    if (source < 0)
      break;
    for (const auto& [input, tensor] : inOrder(given.step(source).input_map()))
      if (!tensors.at(tensor).isReady && seen.insert(tensor).second) {
        last = tensor;
        goesOn = true;
        break;
      }
  }
  return last;
}

bool StepCheck::checkLeftOver() {
  std::set<std::string> outputs;
  for (const auto& output : config.output())
    outputs.insert(output.name());
  bool isWhole = true;
  for (const auto& [name, tensor] : tensors)
    if (!outputs.contains(name) && (!tensor.isReady || tensor.readers.empty()))
      isWhole = add("ensemble tensor '" + name + "' is unused in " + own(),
                    "ensemble_scheduling");
  return isWhole;
}

} // namespace

void checkEnsembleSteps(const ModelConfig& config, ConfigMistakes& found) {
  StepCheck(config, found).run();
}

} // namespace reciperun::server
