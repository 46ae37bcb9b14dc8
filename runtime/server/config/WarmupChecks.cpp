// The warm-up of a model: see ConfigChecks.h.
//
//   1. The inputs of a setting are inputs of the model, or control inputs or
//      states of its sequence batching.
//   2. Each has data, and the type and the dimensions of the model's input.
//   3. No required input is missing.

#include "runtime/server/config/ConfigChecks.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <map>

namespace reciperun::server {
namespace {

using inference::DataType;
using inference::ModelConfig;
using inference::ModelWarmup;

constexpr int mostWarmups = 1024;

/// What is known of an input; a control input has any type and dimensions.
struct WarmupSlot {
  DataType type = inference::TYPE_INVALID;
  std::vector<int64_t> dims = {};
  bool isRequired = false;
  bool isControl = false;
};

std::map<std::string, WarmupSlot> warmupSlotsOf(const ModelConfig& config) {
  std::map<std::string, WarmupSlot> slots;
  for (const auto& input : config.input())
    slots[input.name()] = {.type = input.data_type(),
                           .dims = {input.dims().begin(), input.dims().end()},
                           .isRequired = !input.optional()};
  for (const auto& state : config.sequence_batching().state())
    slots[state.input_name()] = {
        .type = state.data_type(),
        .dims = {state.dims().begin(), state.dims().end()},
        .isRequired = true};
  for (const auto& control : config.sequence_batching().control_input())
    slots[control.name()] = {.isControl = true};
  return slots;
}

template <class Dims> std::string dimsText(const Dims& dims) {
  std::string text;
  for (const int64_t size : dims)
    text += (text.empty() ? "" : ",") + std::to_string(size);
  return "[" + text + "]";
}

/// Checks the settings of one model.
class WarmupCheck {
public:
  WarmupCheck(const ModelConfig& config, ConfigMistakes& found)
      : config(config), slots(warmupSlotsOf(config)), found(found) {}

  void check(const ModelWarmup& warmup, const FieldPath& path) {
    const int64_t most = std::max(1, config.max_batch_size());
    if (warmup.batch_size() > most || warmup.count() > mostWarmups)
      found.push_back({"model warmup '" + warmup.name() +
                           "' must have a batch size of at most " +
                           std::to_string(most) + " and a count of at most " +
                           std::to_string(mostWarmups) + " for " +
                           config.name(),
                       path});
    if (warmup.batch_size() > 0)
      checkInputs(warmup, path / "inputs");
  }

private:
  void add(const std::string& text, const FieldPath& where) {
    found.push_back({"warmup setting " + text, where});
  }

  void checkInputs(const ModelWarmup& warmup, const FieldPath& path) {
    std::map<std::string, const ModelWarmup::Input*> inOrder;
    for (const auto& [name, input] : warmup.inputs())
      inOrder.emplace(name, &input);
    for (const auto& [name, input] : inOrder) {
      const auto slot = slots.find(name);
      if (slot == slots.end())
        add("has unknown input '" + name + "'", path);
      else
        checkInput("input '" + name + "'", *input, slot->second, path);
    }
    for (const auto& [name, slot] : slots)
      if (slot.isRequired && !inOrder.contains(name))
        add("lacks input '" + name + "'", path);
  }

  void checkInput(const std::string& named, const ModelWarmup::Input& input,
                  const WarmupSlot& slot, const FieldPath& path) {
    const bool hasType = input.data_type() != inference::TYPE_INVALID &&
                         inference::DataType_IsValid(input.data_type());
    if (!hasType)
      add("must specify 'data_type' for " + named, path);
    else if (!slot.isControl && input.data_type() != slot.type)
      add("expects " + named + " to have data type " +
              inference::DataType_Name(slot.type) + ", got " +
              inference::DataType_Name(input.data_type()),
          path);
    if (elementCountOf(input.dims()) < 0)
      add("expects all variable-size dimensions are specified for " + named,
          path);
    else if (!slot.isControl && !fits(input, slot))
      add("expects " + named + " to have dims " + dimsText(slot.dims) +
              ", got " + dimsText(input.dims()),
          path);
    if (input.input_data_type_case() ==
        ModelWarmup::Input::INPUT_DATA_TYPE_NOT_SET)
      add("expects " + named + " to have input_data_type set", path);
  }

  static bool fits(const ModelWarmup::Input& input, const WarmupSlot& slot) {
    return std::ranges::equal(input.dims(), slot.dims,
                              [](int64_t given, int64_t wanted) {
                                return wanted == -1 || given == wanted;
                              });
  }

  const ModelConfig& config;
  const std::map<std::string, WarmupSlot> slots;
  ConfigMistakes& found;
};

} // namespace

void checkWarmup(const ModelConfig& config, ConfigMistakes& found) {
  if (config.has_ensemble_scheduling())
    return; // it may have none, which another check reports
  if (config.model_warmup_size() > mostWarmups)
    return found.push_back({"at most " + std::to_string(mostWarmups) +
                                " `model_warmup`s are allowed for " +
                                config.name(),
                            "model_warmup"});
  WarmupCheck check(config, found);
  for (int i = 0; i < config.model_warmup_size(); ++i)
    check.check(config.model_warmup(i), FieldPath("model_warmup")[i]);
}

} // namespace reciperun::server
