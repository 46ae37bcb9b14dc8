// See BuiltinModels.h.

#include "runtime/server/backends/BuiltinModels.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace reciperun::server {
namespace {

using inference::ModelConfig;

struct Slot {
  std::string name;
  DataType type = DataType::bytes;
};

void addSlot(std::vector<Slot>& slots, const std::string& name, int type) {
  if (std::ranges::find(slots, name, &Slot::name) == slots.end())
    slots.push_back({name, dataTypeOf(type).value_or(DataType::bytes)});
}

/// The inputs of a configuration, then those of its states.
std::vector<Slot> inputsOf(const ModelConfig& config) {
  std::vector<Slot> slots;
  for (const auto& input : config.input())
    addSlot(slots, input.name(), int(input.data_type()));
  for (const auto& state : config.sequence_batching().state())
    addSlot(slots, state.input_name(), int(state.data_type()));
  return slots;
}

std::vector<Slot> outputsOf(const ModelConfig& config) {
  std::vector<Slot> slots;
  for (const auto& output : config.output())
    addSlot(slots, output.name(), int(output.data_type()));
  for (const auto& state : config.sequence_batching().state())
    addSlot(slots, state.output_name(), int(state.data_type()));
  return slots;
}

Status badConfig(const ModelConfig& config, const std::string& why) {
  return Status::error("model '" + config.name() + "' of the backend '" +
                           config.backend() + "' " + why,
                       StatusCode::invalidArgument);
}

// ---- add_sub

/// Elementwise; integers wrap around.
template <class T>
void addAndSubtract(const std::string& left, const std::string& right,
                    std::string& sum, std::string& difference) {
  sum.resize(left.size());
  difference.resize(left.size());
  for (size_t at = 0; at < left.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, left.data() + at, sizeof(T));
    std::memcpy(&b, right.data() + at, sizeof(T));
    T plus, minus;
    if constexpr (std::is_integral_v<T>) {
      __builtin_add_overflow(a, b, &plus);
      __builtin_sub_overflow(a, b, &minus);
    } else {
      plus = a + b;
      minus = a - b;
    }
    std::memcpy(sum.data() + at, &plus, sizeof(T));
    std::memcpy(difference.data() + at, &minus, sizeof(T));
  }
}

using AddAndSubtract = void (*)(const std::string&, const std::string&,
                                std::string&, std::string&);

/// Null for types that it does not take.
AddAndSubtract functionFor(DataType type) {
  switch (type) {
  case DataType::uint8:
    return addAndSubtract<uint8_t>;
  case DataType::uint16:
    return addAndSubtract<uint16_t>;
  case DataType::uint32:
    return addAndSubtract<uint32_t>;
  case DataType::uint64:
    return addAndSubtract<uint64_t>;
  case DataType::int8:
    return addAndSubtract<int8_t>;
  case DataType::int16:
    return addAndSubtract<int16_t>;
  case DataType::int32:
    return addAndSubtract<int32_t>;
  case DataType::int64:
    return addAndSubtract<int64_t>;
  case DataType::fp32:
    return addAndSubtract<float>;
  case DataType::fp64:
    return addAndSubtract<double>;
  default:
    return nullptr;
  }
}

class AddSub : public BatchBackend {
public:
  AddSub(std::vector<Slot> inputs, std::vector<Slot> outputs)
      : inputs(std::move(inputs)), outputs(std::move(outputs)),
        compute(functionFor(this->inputs[0].type)) {}

  std::vector<Answer>
  execute(std::span<const InferRequest* const> batch) override {
    std::vector<Answer> answers;
    for (const InferRequest* request : batch)
      answers.push_back(answer(*request));
    return answers;
  }

private:
  Answer answer(const InferRequest& request) const {
    const Tensor* const left = findInput(request, inputs[0].name);
    const Tensor* const right = findInput(request, inputs[1].name);
    if (!left || !right || left->data.size() != right->data.size())
      return Status::error("the two inputs must have the same shape",
                           StatusCode::invalidArgument);
    std::string results[2];
    compute(left->data, right->data, results[0], results[1]);
    std::vector<Tensor> made;
    for (size_t i = 0; i < outputs.size(); ++i)
      made.push_back({.name = outputs[i].name,
                      .type = left->type,
                      .shape = left->shape,
                      .data = results[i]});
    return made;
  }

  std::vector<Slot> inputs, outputs;
  AddAndSubtract compute;
};

// ---- identity

class Identity : public BatchBackend {
public:
  Identity(std::vector<Slot> inputs, std::vector<Slot> outputs,
           std::chrono::milliseconds delay)
      : inputs(std::move(inputs)), outputs(std::move(outputs)), delay(delay) {}

  std::vector<Answer>
  execute(std::span<const InferRequest* const> batch) override {
    if (delay.count() > 0)
      std::this_thread::sleep_for(delay);
    std::vector<Answer> answers;
    for (const InferRequest* request : batch)
      answers.push_back(answer(*request));
    return answers;
  }

private:
  Answer answer(const InferRequest& request) const {
    std::vector<Tensor> made;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (const Tensor* const input = findInput(request, inputs[i].name)) {
        made.push_back(*input);
        made.back().name = outputs[i].name;
      }
    return made;
  }

  std::vector<Slot> inputs, outputs;
  std::chrono::milliseconds delay;
};

Expected<std::chrono::milliseconds> delayOf(const ModelConfig& config) {
  const auto found = config.parameters().find("execute_delay_ms");
  if (found == config.parameters().end())
    return std::chrono::milliseconds(0);
  const std::string& text = found->second.string_value();
  constexpr int longest = 60'000;
  int value = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value > longest)
    return badConfig(config, "has the parameter `execute_delay_ms` '" + text +
                                 "', which must be a number up to " +
                                 std::to_string(longest));
  return std::chrono::milliseconds(value);
}

} // namespace

Expected<std::unique_ptr<BatchBackend>> makeAddSub(const ModelConfig& config) {
  std::vector<Slot> inputs = inputsOf(config), outputs = outputsOf(config);
  if (inputs.size() != 2 || outputs.empty() || outputs.size() > 2)
    return badConfig(config, "must have two inputs and one or two outputs");
  const DataType type = inputs[0].type;
  const auto differs = [&](const Slot& slot) { return slot.type != type; };
  if (std::ranges::any_of(inputs, differs) ||
      std::ranges::any_of(outputs, differs))
    return badConfig(config, "must have inputs and outputs of one type");
  if (!functionFor(type))
    return badConfig(config, "must have inputs of a type of numbers other "
                             "than BOOL, FP16 and BF16");
  return std::unique_ptr<BatchBackend>(
      std::make_unique<AddSub>(std::move(inputs), std::move(outputs)));
}

Expected<std::unique_ptr<BatchBackend>>
makeIdentity(const ModelConfig& config) {
  std::vector<Slot> inputs = inputsOf(config), outputs = outputsOf(config);
  if (outputs.empty() || outputs.size() > inputs.size())
    return badConfig(config, "must have an input for each output");
  for (size_t i = 0; i < outputs.size(); ++i)
    if (inputs[i].type != outputs[i].type)
      return badConfig(config, "must have the type of input '" +
                                   inputs[i].name + "' for output '" +
                                   outputs[i].name + "'");
  const auto delay = delayOf(config);
  RECIPERUN_TRY(delay);
  return std::unique_ptr<BatchBackend>(std::make_unique<Identity>(
      std::move(inputs), std::move(outputs), *delay));
}

} // namespace reciperun::server
