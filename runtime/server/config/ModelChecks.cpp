// checkModelConfig of ModelConfig.h: what is wrong with a model by itself.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <set>
#include <string>

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using inference::ModelInstanceGroup;

/// Instances are threads; batches are held in memory.
constexpr int mostInstances = 1024;
constexpr int mostBatch = 1 << 20;
constexpr uint64_t mostLevels = 1024;

Status bad(const std::string& message) {
  return Status::error(message, StatusCode::invalidArgument);
}

bool isEnsemble(const ModelConfig& config) {
  return config.platform() == "ensemble";
}

Status checkBackend(const ModelConfig& config) {
  const std::string& name = config.name();
  if (config.platform().empty() && config.backend().empty())
    return bad("must specify 'platform' or 'backend' for '" + name + "'");
  if (isEnsemble(config) && !config.backend().empty())
    return bad("unexpected 'platform' and 'backend' pair, got:" +
               config.platform() + ", " + config.backend());
  if (isEnsemble(config) && !config.has_ensemble_scheduling())
    return bad("ensemble scheduling must be set for ensemble " + name +
               " whose platform is ensemble");
  if (!isEnsemble(config) && config.has_ensemble_scheduling())
    return bad("ensemble scheduling cannot be set for model '" + name +
               "' whose platform is not ensemble");
  if (config.max_batch_size() < 0)
    return bad("'max_batch_size' must be non-negative value for " + name);
  if (config.max_batch_size() > mostBatch)
    return bad("'max_batch_size' must be at most " + std::to_string(mostBatch) +
               " for " + name);
  return Status::ok();
}

/// The product of dimensions; -1 where one is variable.
template <class Dims> int64_t elementCount(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t size : dims)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return -1;
  return count;
}

template <class Dims> Status checkDims(const Dims& dims) {
  for (const int64_t size : dims)
    if (size < 1 && size != -1)
      return bad("dimension must be integer >= 1, or -1 to indicate a "
                 "variable-size dimension");
  return Status::ok();
}

template <class Io>
Status checkReshape(const Io& io, int maxBatch, const std::string& kind) {
  if (!io.has_reshape())
    return Status::ok();
  const auto& shape = io.reshape().shape();
  if (maxBatch == 0 && shape.empty())
    return bad(kind + "cannot have empty reshape for non-batching model as "
                      "scalar tensors are not supported");
  RECIPERUN_TRY(checkDims(shape));
  if (elementCount(io.dims()) != elementCount(shape))
    return bad(kind + "has different size for dims and reshape");
  return Status::ok();
}

/// An input or output; `kind` is `model input ` or `model output `.
template <class Io>
Status checkTensor(const Io& io, int maxBatch, std::string kind) {
  if (io.name().empty())
    return bad(kind + "must specify 'name'");
  kind += "'" + io.name() + "' ";
  if (io.data_type() == inference::TYPE_INVALID ||
      !inference::DataType_IsValid(io.data_type()))
    return bad(kind + "must specify 'data_type'");
  if (io.dims().empty())
    return bad(kind + "must specify 'dims'");
  const Status dims = checkDims(io.dims());
  if (!dims.isOk())
    return bad(kind + dims.message());
  return checkReshape(io, maxBatch, kind);
}

Status checkTensors(const ModelConfig& config) {
  std::set<std::string> names;
  for (const auto& input : config.input()) {
    RECIPERUN_TRY(checkTensor(input, config.max_batch_size(), "model input "));
    if (!names.insert(input.name()).second)
      return bad("model input '" + input.name() + "' is declared twice for " +
                 config.name());
  }
  for (const auto& output : config.output())
    RECIPERUN_TRY(
        checkTensor(output, config.max_batch_size(), "model output "));
  return Status::ok();
}

Status checkDynamicBatching(const ModelConfig& config) {
  if (!config.has_dynamic_batching())
    return Status::ok();
  const std::string end = " for " + config.name();
  const auto& given = config.dynamic_batching();
  for (const int size : given.preferred_batch_size()) {
    if (size <= 0)
      return bad("dynamic batching preferred size must be positive" + end);
    if (size > config.max_batch_size())
      return bad("dynamic batching preferred size must be <= max batch size" +
                 end);
  }
  const uint64_t levels = given.priority_levels();
  if (levels > mostLevels)
    return bad("priority levels must be at most " + std::to_string(mostLevels) +
               end);
  const std::string range = "in range [1, " + std::to_string(levels) + "]";
  if (levels > 0 && (given.default_priority_level() < 1 ||
                     given.default_priority_level() > levels))
    return bad("default priority level must be " + range + end);
  for (const auto& [level, policy] : given.priority_queue_policy())
    if (level < 1 || level > levels)
      return bad("priority queue policy must have priority level " + range +
                 end);
  if (!given.preserve_ordering())
    return Status::ok();
  if (levels > 1)
    return bad("Only one priority level is allowed when 'preserve_ordering' is "
               "true" +
               end);
  const auto delays = [](const inference::ModelQueuePolicy& policy) {
    return policy.timeout_action() == inference::ModelQueuePolicy::DELAY;
  };
  if (delays(given.default_queue_policy()) ||
      std::ranges::any_of(given.priority_queue_policy(), [&](const auto& each) {
        return delays(each.second);
      }))
    return bad("Queue policy can not have DELAY as timeout action when "
               "'preserve_ordering' is true" +
               end);
  return Status::ok();
}

Status checkControl(const inference::ModelSequenceBatching::Control& control,
                    const std::string& model) {
  using Control = inference::ModelSequenceBatching::Control;
  const std::string kind = Control::Kind_Name(control.kind());
  if (control.kind() == Control::CONTROL_SEQUENCE_CORRID) {
    if (control.data_type() == inference::TYPE_INVALID)
      return bad("sequence batching control tensor must specify 'data_type' "
                 "for " +
                 kind + " for " + model);
    return Status::ok();
  }
  const int sizes[] = {control.int32_false_true_size(),
                       control.fp32_false_true_size(),
                       control.bool_false_true_size()};
  const auto given =
      std::ranges::count_if(sizes, [](int size) { return size > 0; });
  if (given == 0)
    return bad("sequence batching must specify either 'int32_false_true', "
               "'fp32_false_true' or 'bool_false_true' for " +
               kind + " for " + model);
  if (given > 1)
    return bad("sequence batching specifies more than one from "
               "'int32_false_true', 'fp32_false_true' and 'bool_false_true' "
               "for " +
               kind + " for " + model);
  if (std::ranges::none_of(sizes, [](int size) { return size == 2; }))
    return bad("sequence batching control 'int32_false_true', "
               "'fp32_false_true' or 'bool_false_true' must have exactly 2 "
               "entries for " +
               kind + " for " + model);
  return Status::ok();
}

Status checkSequenceBatching(const ModelConfig& config) {
  if (!config.has_sequence_batching())
    return Status::ok();
  const auto& given = config.sequence_batching();
  const std::string end = " for " + config.name();
  std::set<int> kinds;
  std::set<std::string> inputs;
  for (const auto& input : given.control_input()) {
    if (input.name().empty())
      return bad("sequence batching control tensor must have a name" + end);
    if (!inputs.insert(input.name()).second)
      return bad("sequence batching control tensor '" + input.name() +
                 "' is specified for multiple control kinds" + end);
    for (const auto& control : input.control()) {
      RECIPERUN_TRY(checkControl(control, config.name()));
      if (!kinds.insert(control.kind()).second)
        return bad("sequence batching specifies multiple " +
                   inference::ModelSequenceBatching::Control::Kind_Name(
                       control.kind()) +
                   " tensors" + end);
    }
  }
  for (const auto& state : given.state()) {
    if (state.input_name().empty() || state.output_name().empty())
      return bad("sequence batching state must specify 'input_name' and "
                 "'output_name'" +
                 end);
    RECIPERUN_TRY(checkDims(state.dims()));
    const bool isFixed = elementCount(state.dims()) >= 0;
    if (state.data_type() == inference::TYPE_INVALID || !isFixed)
      return bad("sequence batching state '" + state.input_name() +
                 "' must specify 'data_type' and 'dims' without variable "
                 "dimensions" +
                 end);
  }
  for (const int size : given.oldest().preferred_batch_size())
    if (size <= 0 || size > config.max_batch_size())
      return bad("sequence batching preferred batch size must be positive and "
                 "<= max batch size" +
                 end);
  return Status::ok();
}

Status checkGroup(const ModelInstanceGroup& group, const std::string& model) {
  const std::string place =
      "instance group " + group.name() + " of model " + model + " ";
  if (group.count() < 0 || group.count() > mostInstances)
    return bad(place + "must have a count from 1 to " +
               std::to_string(mostInstances));
  const bool hasGpus = !group.gpus().empty();
  if (group.kind() == ModelInstanceGroup::KIND_CPU && hasGpus)
    return bad(place + "has kind KIND_CPU but specifies one or more GPUs");
  if (group.kind() == ModelInstanceGroup::KIND_MODEL && hasGpus)
    return bad(place + "has kind KIND_MODEL but specifies one or more GPUs");
  for (const int gpu : group.gpus())
    if (gpu < 0)
      return bad(place + "specifies invalid or unsupported gpu id " +
                 std::to_string(gpu));
  return Status::ok();
}

Status checkInstances(const ModelConfig& config) {
  if (isEnsemble(config)) {
    const std::string end =
        " should not be specified for ensemble '" + config.name() + "'";
    if (!config.instance_group().empty())
      return bad("instance group" + end);
    if (config.has_optimization())
      return bad("optimization" + end);
    if (!config.model_warmup().empty())
      return bad("model_warmup" + end);
    return Status::ok();
  }
  if (config.instance_group().empty())
    return bad("must specify one or more 'instance group's for " +
               config.name());
  for (const ModelInstanceGroup& group : config.instance_group())
    RECIPERUN_TRY(checkGroup(group, config.name()));
  return Status::ok();
}

Status checkCache(const ModelConfig& config) {
  if (!config.response_cache().enable())
    return Status::ok();
  const std::string begin = "Response Cache does not currently support model " +
                            config.name() + " with ";
  if (config.has_sequence_batching())
    return bad(begin + "'sequence_batching'");
  if (config.model_transaction_policy().decoupled())
    return bad(begin + "'decoupled' transaction policy");
  return Status::ok();
}

} // namespace

Status checkModelConfig(const ModelConfig& config) {
  RECIPERUN_TRY(checkBackend(config));
  RECIPERUN_TRY(checkTensors(config));
  RECIPERUN_TRY(checkDynamicBatching(config));
  RECIPERUN_TRY(checkSequenceBatching(config));
  RECIPERUN_TRY(checkInstances(config));
  return checkCache(config);
}

} // namespace reciperun::server
