// checkEnsemble of ModelConfig.h: whether the steps of an ensemble and their
// models fit together.
//
//   1. Each step names a model and its maps; each tensor has one source.
//   2. All inputs, outputs and tensors are used.
//   3. The models are in service, and have the inputs and outputs of the maps.
//   4. Types and shapes agree at both ends of each tensor.
//   5. No step reads from two decoupled models.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

using inference::DataType;
using inference::ModelConfig;
using Step = inference::ModelEnsembling::Step;

Status badEnsemble(const std::string& message) {
  return Status::error(message, StatusCode::invalidArgument);
}

std::string quote(const std::string& text) {
  return "'" + text + "'";
}

/// Whose ends must agree.
struct TensorEnd {
  DataType type = inference::TYPE_INVALID;
  std::vector<int64_t> shape; // with the batch dimension, -1
};

template <class Io> TensorEnd endOf(const Io& io, bool batches) {
  TensorEnd end{.type = io.data_type(), .shape = {}};
  if (batches)
    end.shape.push_back(-1);
  end.shape.insert(end.shape.end(), io.dims().begin(), io.dims().end());
  return end;
}

template <class Ios>
const typename Ios::value_type* findIo(const Ios& all,
                                       const std::string& name) {
  const auto found = std::ranges::find_if(
      all, [&](const auto& each) { return each.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

class EnsembleCheck {
public:
  EnsembleCheck(const ModelConfig& ensemble, const FindConfig& find)
      : ensemble(ensemble), find(find) {}

  Status run() {
    RECIPERUN_TRY(checkSteps());
    RECIPERUN_TRY(checkUse());
    for (const auto& input : ensemble.input())
      ends[input.name()] = endOf(input, batches());
    for (const auto& output : ensemble.output())
      ends[output.name()] = endOf(output, batches());
    for (const Step& step : steps())
      RECIPERUN_TRY(checkModel(step));
    return checkDecoupled();
  }

private:
  const google::protobuf::RepeatedPtrField<Step>& steps() const {
    return ensemble.ensemble_scheduling().step();
  }
  bool batches() const { return ensemble.max_batch_size() > 0; }
  std::string own() const { return "ensemble " + quote(ensemble.name()); }

  Status checkSteps();
  Status checkUse();
  Status checkModel(const Step& step);
  template <class Io>
  Status checkEnd(const Io& io, bool modelBatches, const std::string& tensor);
  Status checkDecoupled();

  const ModelConfig& ensemble;
  const FindConfig& find;
  std::map<std::string, TensorEnd> ends; // of the ensemble's tensors
};

Status EnsembleCheck::checkSteps() {
  if (steps().empty())
    return badEnsemble("must specify 'step' for " + own());
  std::set<std::string> produced;
  for (int i = 0; i < steps().size(); ++i) {
    const Step& step = steps()[i];
    const std::string place = " in step " + std::to_string(i) + " of " + own();
    if (step.model_name().empty())
      return badEnsemble("must specify 'model_name'" + place);
    if (step.input_map().empty())
      return badEnsemble("must specify 'input_map'" + place);
    if (step.output_map().empty())
      return badEnsemble("must specify 'output_map'" + place);
    for (const auto& [output, tensor] : step.output_map())
      if (!produced.insert(tensor).second || findIo(ensemble.input(), tensor))
        return badEnsemble("ensemble tensor " + quote(tensor) +
                           " can appear in an output map only once for " +
                           own() + " step " + std::to_string(i));
  }
  return Status::ok();
}

Status EnsembleCheck::checkUse() {
  std::set<std::string> read, produced;
  for (const Step& step : steps()) {
    for (const auto& [input, tensor] : step.input_map())
      read.insert(tensor);
    for (const auto& [output, tensor] : step.output_map())
      produced.insert(tensor);
  }
  // The stray quote is Triton's.
  for (const auto& input : ensemble.input())
    if (!read.contains(input.name()))
      return badEnsemble("ensemble input " + quote(input.name()) +
                         " for ensemble " + ensemble.name() + "' is not used");
  for (const auto& output : ensemble.output())
    if (!produced.contains(output.name()))
      return badEnsemble("ensemble output " + quote(output.name()) +
                         " for ensemble " + ensemble.name() + "' is not used");
  for (const std::string& tensor : produced)
    if (!read.contains(tensor) && !findIo(ensemble.output(), tensor))
      return badEnsemble("ensemble tensor " + quote(tensor) + " is unused in " +
                         own());
  for (const std::string& tensor : read)
    if (!produced.contains(tensor) && !findIo(ensemble.input(), tensor))
      return badEnsemble("ensemble tensor " + quote(tensor) +
                         " is not written by a step in " + own());
  return Status::ok();
}

/// The model of a step, and the tensors at its ends.
Status EnsembleCheck::checkModel(const Step& step) {
  const auto model = find(step.model_name(),
                          step.model_version() > 0 ? step.model_version() : -1);
  const std::string& name = step.model_name();
  const std::string in = "in ensemble " + ensemble.name() + ", ";
  if (!model)
    return badEnsemble("ensemble " + quote(ensemble.name()) + " depends on " +
                       quote(name) + " which has no loaded version");
  const int most = model->max_batch_size();
  if (most > 0 && most < ensemble.max_batch_size())
    return badEnsemble(
        "ensemble " + ensemble.name() + " allows maximum batch size " +
        std::to_string(ensemble.max_batch_size()) + ", but it contains model " +
        name + " which only allows maximum batch size to be " +
        std::to_string(most));
  for (const auto& input : model->input())
    if (!input.optional() && !step.input_map().contains(input.name()))
      return badEnsemble(in + "input " + input.name() + " in model " + name +
                         " is not mapped to any ensemble tensors");
  for (const auto& [input, tensor] : step.input_map()) {
    const auto* const io = findIo(model->input(), input);
    if (!io)
      return badEnsemble(in + "ensemble tensor " + tensor +
                         " is mapping to non-existing input " + input +
                         " in model " + name);
    RECIPERUN_TRY(checkEnd(*io, most > 0, tensor));
  }
  for (const auto& [output, tensor] : step.output_map()) {
    const auto* const io = findIo(model->output(), output);
    if (!io)
      return badEnsemble(in + "ensemble tensor " + tensor +
                         " is mapped from non-existing output " + output +
                         " in model " + name);
    RECIPERUN_TRY(checkEnd(*io, most > 0, tensor));
  }
  return Status::ok();
}

/// A tensor's type and shape agree with those of its other ends.
template <class Io>
Status EnsembleCheck::checkEnd(const Io& io, bool modelBatches,
                               const std::string& tensor) {
  const TensorEnd end = endOf(io, modelBatches);
  const auto [place, isNew] = ends.emplace(tensor, end);
  const TensorEnd& other = place->second;
  const std::string in =
      "in ensemble " + ensemble.name() + ", ensemble tensor " + tensor + ": ";
  if (other.type != end.type)
    return badEnsemble(
        in + "inconsistent data type: " + inference::DataType_Name(end.type) +
        " is inferred but " + inference::DataType_Name(other.type) +
        " is expected");
  // A model without a batch dimension gets tensors of rank and shape as they
  // are.
  if (isNew || modelBatches != batches())
    return Status::ok();
  const bool fits =
      std::ranges::equal(end.shape, other.shape, [](int64_t a, int64_t b) {
        return a == b || a == -1 || b == -1;
      });
  if (fits)
    return Status::ok();
  const auto text = [](const std::vector<int64_t>& shape) {
    std::string made;
    for (const int64_t size : shape)
      made += (made.empty() ? "" : ",") + std::to_string(size);
    return "[" + made + "]";
  };
  return badEnsemble(in + "inconsistent shape: " + text(end.shape) +
                     " is inferred but " + text(other.shape) + " is expected");
}

/// The decoupled step behind each tensor; a step may have only one behind all
/// of its inputs.
Status EnsembleCheck::checkDecoupled() {
  std::map<std::string, std::string> sources; // tensor to decoupled model
  for (int round = 0; round < steps().size(); ++round)
    for (const Step& step : steps()) {
      const auto model = find(step.model_name(), -1);
      std::string source;
      for (const auto& [input, tensor] : step.input_map()) {
        const auto found = sources.find(tensor);
        if (found == sources.end() || found->second.empty())
          continue;
        if (!source.empty() && source != found->second)
          return badEnsemble(
              "in ensemble " + ensemble.name() + ", step of model '" +
              step.model_name() +
              "' receives inputs originated from different decoupled models");
        source = found->second;
      }
      if (model && model->model_transaction_policy().decoupled())
        source = step.model_name();
      for (const auto& [output, tensor] : step.output_map())
        sources[tensor] = source;
    }
  return Status::ok();
}

} // namespace

Status checkEnsemble(const ModelConfig& ensemble, const FindConfig& find) {
  return EnsembleCheck(ensemble, find).run();
}

} // namespace reciperun::server
