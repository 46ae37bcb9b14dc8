// Whether the steps of an ensemble and their models fit together: see
// checkEnsemble and checkCircularEnsembles of ModelConfig.h.
//
//   1. The models are in service, with the versions that steps ask for.
//   2. They have the inputs and outputs of the maps, and all of their inputs
//      are mapped but optional ones.
//   3. Types and shapes agree at both ends of each tensor.
//   4. No step reads from two decoupled models.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace reciperun::server {
namespace {

using inference::DataType;
using inference::ModelConfig;
using Step = inference::ModelEnsembling::Step;
using Shape = std::vector<int64_t>;
using SharedModel = std::shared_ptr<const ModelConfig>;

Status badEnsemble(const std::string& message) {
  return Status::error(message, StatusCode::invalidArgument);
}

/// A tensor of the ensemble as one model declares it.
struct TensorEnd {
  std::string model;
  DataType type = inference::TYPE_INVALID;
  Shape dims;
  Shape full; // with the batch dimension, -1
};

template <class Io, class Dims>
TensorEnd endOf(const Io& io, const Dims& dims, const ModelConfig& model) {
  TensorEnd end{.model = model.name(),
                .type = io.data_type(),
                .dims = {dims.begin(), dims.end()},
                .full = {}};
  if (model.max_batch_size() > 0)
    end.full.push_back(-1);
  end.full.insert(end.full.end(), end.dims.begin(), end.dims.end());
  return end;
}

/// How a step's model declares a tensor: before the model reshapes it.
template <class Io>
TensorEnd stepEndOf(const Io& io, const ModelConfig& model) {
  return endOf(io, io.dims(), model);
}

/// How the ensemble declares a tensor: after the ensemble has reshaped it.
template <class Io> TensorEnd ownEndOf(const Io& io, const ModelConfig& model) {
  return endOf(io, io.has_reshape() ? io.reshape().shape() : io.dims(), model);
}

bool agree(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b, [](int64_t one, int64_t other) {
    return one == other || one == -1 || other == -1;
  });
}

std::string shapeText(const Shape& shape) {
  std::string made;
  for (const int64_t size : shape)
    made += (made.empty() ? "" : ",") + std::to_string(size);
  return "[" + made + "]";
}

template <class Ios>
const typename Ios::value_type* findIo(const Ios& all,
                                       const std::string& name) {
  const auto found = std::ranges::find_if(
      all, [&](const auto& each) { return each.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

/// In alphabetical order.
template <class Map>
std::map<std::string, std::string> inOrderOf(const Map& map) {
  return {map.begin(), map.end()};
}

int64_t versionOf(const Step& step) {
  return step.model_version() > 0 ? step.model_version() : -1;
}

class EnsembleCheck {
public:
  EnsembleCheck(const ModelConfig& ensemble, const FindConfig& find)
      : ensemble(ensemble), find(find) {}

  Status run() {
    for (const auto& input : ensemble.input())
      ends.emplace(input.name(), ownEndOf(input, ensemble));
    for (const auto& output : ensemble.output())
      ends.emplace(output.name(), ownEndOf(output, ensemble));
    for (const Step& step : steps()) {
      const auto model = findModel(step);
      RECIPERUN_TRY(model);
      models.push_back(*model);
    }
    for (int i = 0; i < steps().size(); ++i)
      RECIPERUN_TRY(checkStep(steps()[i], *models[size_t(i)]));
    return checkDecoupled();
  }

private:
  const google::protobuf::RepeatedPtrField<Step>& steps() const {
    return ensemble.ensemble_scheduling().step();
  }
  std::string in() const { return "in ensemble " + ensemble.name() + ", "; }

  Expected<SharedModel> findModel(const Step& step) const;
  Status checkStep(const Step& step, const ModelConfig& model);
  Status checkInputs(const Step& step, const ModelConfig& model);
  Status checkOutputs(const Step& step, const ModelConfig& model);
  Status checkEnd(const TensorEnd& end, const std::string& tensor);
  Status checkDecoupled() const;
  Status addSource(const std::string& model, int source, int& sources) const;

  const ModelConfig& ensemble;
  const FindConfig& find;
  std::vector<SharedModel> models;       // of the steps
  std::map<std::string, TensorEnd> ends; // the first declaration of each tensor
};

Expected<SharedModel> EnsembleCheck::findModel(const Step& step) const {
  const std::string depends = "ensemble '" + ensemble.name() +
                              "' depends on '" + step.model_name() + "' ";
  if (SharedModel model = find(step.model_name(), versionOf(step)))
    return model;
  if (versionOf(step) > 0 && find(step.model_name(), -1))
    return badEnsemble(depends + "whose required version " +
                       std::to_string(step.model_version()) +
                       " is not loaded.");
  return badEnsemble(depends + "which has no loaded version.");
}

Status EnsembleCheck::checkStep(const Step& step, const ModelConfig& model) {
  const int most = model.max_batch_size();
  if (most != 0 && most < ensemble.max_batch_size())
    return badEnsemble(
        "ensemble " + ensemble.name() + " allows maximum batch size " +
        std::to_string(ensemble.max_batch_size()) + ", but it contains model " +
        step.model_name() + " which only allows maximum batch size to be " +
        std::to_string(most));
  RECIPERUN_TRY(checkInputs(step, model));
  return checkOutputs(step, model);
}

Status EnsembleCheck::checkInputs(const Step& step, const ModelConfig& model) {
  for (const auto& [input, tensor] : inOrderOf(step.input_map()))
    if (!findIo(model.input(), input))
      return badEnsemble(in() + "ensemble tensor " + tensor +
                         " is mapping to non-existing input " + input +
                         " in model " + step.model_name());
  for (const auto& input : model.input()) {
    const auto mapped = step.input_map().find(input.name());
    if (mapped != step.input_map().end())
      RECIPERUN_TRY(checkEnd(stepEndOf(input, model), mapped->second));
    else if (!input.optional())
      return badEnsemble(in() + "input " + input.name() + " in model " +
                         step.model_name() +
                         " is not mapped to any ensemble tensors");
  }
  return Status::ok();
}

Status EnsembleCheck::checkOutputs(const Step& step, const ModelConfig& model) {
  for (const auto& [output, tensor] : inOrderOf(step.output_map())) {
    const auto* const io = findIo(model.output(), output);
    if (!io)
      return badEnsemble(in() + "ensemble tensor " + tensor +
                         " is mapped from non-existing output " + output +
                         " in model " + step.model_name());
    RECIPERUN_TRY(checkEnd(stepEndOf(*io, model), tensor));
  }
  return Status::ok();
}

/// Compares a declaration of a tensor with the first one. A batch dimension
/// agrees with a variable first dimension. Variable dimensions are checked when
/// requests run.
Status EnsembleCheck::checkEnd(const TensorEnd& end,
                               const std::string& tensor) {
  const TensorEnd& first = ends.emplace(tensor, end).first->second;
  const auto fail = [&](const char* what, const std::string& one,
                        const std::string& other) {
    return badEnsemble(in() + "ensemble tensor " + tensor + ": inconsistent " +
                       what + ": " + one + " is inferred from model " +
                       first.model + " while " + other +
                       " is inferred from model " + end.model);
  };
  if (first.type != end.type)
    return fail("data type", inference::DataType_Name(first.type),
                inference::DataType_Name(end.type));
  if (!agree(first.dims, end.dims) && !agree(first.full, end.full))
    return fail("shape", shapeText(first.full), shapeText(end.full));
  return Status::ok();
}

/// Sets `sources`, the decoupled step that the inputs of `model` depend on, to
/// `source`, the one of another input; -1 is none. Fails if both are different
/// steps.
Status EnsembleCheck::addSource(const std::string& model, int source,
                                int& sources) const {
  if (source < 0 || source == sources)
    return Status::ok();
  if (sources >= 0)
    return badEnsemble(
        in() + "step of model '" + model +
        "' receives inputs originated from different decoupled models");
  sources = source;
  return Status::ok();
}

/// Finds the decoupled step that each tensor depends on. Triton also refuses a
/// step with one input that depends on a decoupled step and one that does not;
/// here the latter is combined with each response of the decoupled step.
Status EnsembleCheck::checkDecoupled() const {
  std::map<std::string, int> sources; // by tensor
  for (const auto& input : ensemble.input())
    sources[input.name()] = -1;
  std::vector<bool> isDone(models.size());
  for (bool goesOn = true; std::exchange(goesOn, false);)
    for (int i = 0; i < steps().size(); ++i) {
      const Step& step = steps()[i];
      const auto isKnown = [&](const auto& each) {
        return sources.contains(each.second);
      };
      if (isDone[size_t(i)] || !std::ranges::all_of(step.input_map(), isKnown))
        continue;
      int source = -1;
      for (const auto& [input, tensor] : inOrderOf(step.input_map()))
        RECIPERUN_TRY(addSource(step.model_name(), sources[tensor], source));
      if (models[size_t(i)]->model_transaction_policy().decoupled())
        source = i;
      for (const auto& [output, tensor] : step.output_map())
        sources[tensor] = source;
      isDone[size_t(i)] = true;
      goesOn = true;
    }
  int source = -1;
  for (const auto& output : ensemble.output())
    if (const auto found = sources.find(output.name()); found != sources.end())
      RECIPERUN_TRY(addSource(ensemble.name(), found->second, source));
  return Status::ok();
}

/// Whether the steps of `from` contain `start`, directly or through other
/// ensembles; `last` becomes the ensemble that contains it.
bool leadsTo(const std::string& start, const ModelConfig& from,
             const FindConfig& find, std::set<std::string>& seen,
             std::string& last) {
  for (const Step& step : from.ensemble_scheduling().step()) {
    if (step.model_name() == start) {
      last = from.name();
      return true;
    }
    if (!seen.insert(step.model_name()).second)
      continue;
    const SharedModel model = find(step.model_name(), -1);
    if (model && leadsTo(start, *model, find, seen, last))
      return true;
  }
  return false;
}

} // namespace

Status checkEnsemble(const ModelConfig& ensemble, const FindConfig& find) {
  return EnsembleCheck(ensemble, find).run();
}

Status checkCircularEnsembles(const ModelConfig& ensemble,
                              const FindConfig& find) {
  std::set<std::string> seen;
  std::string last;
  if (!leadsTo(ensemble.name(), ensemble, find, seen, last))
    return Status::ok();
  return badEnsemble(
      "circular dependency between ensembles: " + ensemble.name() +
      " -> ... -> " + last + " -> " + ensemble.name());
}

} // namespace reciperun::server
