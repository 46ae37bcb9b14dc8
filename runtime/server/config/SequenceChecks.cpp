// Sequence batching: see ConfigChecks.h.

#include "runtime/server/config/ConfigChecks.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <array>
#include <set>

namespace reciperun::server {
namespace {

using inference::DataType;
using inference::ModelConfig;
using inference::ModelSequenceBatching;
using Control = ModelSequenceBatching::Control;
using State = ModelSequenceBatching::State;

/// The bytes of all states of a sequence.
constexpr int64_t mostStateBytes = int64_t(1) << 30;
constexpr int mostStates = 1024;

const FieldPath sequenceBatching = "sequence_batching";

/// Checks one model's sequence batching.
class SequenceCheck {
public:
  SequenceCheck(const ModelConfig& config, ConfigMistakes& found)
      : config(config), given(config.sequence_batching()),
        end(" for " + config.name()), found(found) {}

  void run() {
    for (int i = 0; i < given.control_input_size(); ++i)
      checkInput(i);
    checkStrategy();
    if (given.state_size() > mostStates)
      return add("at most " + std::to_string(mostStates) +
                     " states are allowed" + end,
                 sequenceBatching / "state");
    for (int i = 0; i < given.state_size(); ++i)
      checkState(given.state(i), (sequenceBatching / "state")[i]);
  }

private:
  void add(std::string text, const FieldPath& where) {
    found.push_back({std::move(text), where});
  }

  void checkInput(int index);
  void checkFlags(const Control& control, const FieldPath& path);
  void checkId(const Control& control, const FieldPath& path);
  void checkStrategy();
  void checkState(const State& state, const FieldPath& path);
  void checkInitial(const State& state, const FieldPath& path);

  const ModelConfig& config;
  const ModelSequenceBatching& given;
  const std::string end;
  ConfigMistakes& found;
  std::set<std::string> inputs, states; // names so far
  std::set<int> kinds;
  int64_t stateBytes = 0;
};

void SequenceCheck::checkInput(int index) {
  const auto& input = given.control_input(index);
  const FieldPath path = (sequenceBatching / "control_input")[index];
  if (input.name().empty())
    return add("sequence batching control tensor must have a name" + end, path);
  if (!inputs.insert(input.name()).second)
    add("sequence batching control tensor '" + input.name() +
            "' is specified for multiple control kinds" + end,
        path);
  for (int i = 0; i < input.control_size(); ++i) {
    const Control& control = input.control(i);
    const FieldPath where = (path / "control")[i];
    if (!kinds.insert(control.kind()).second)
      add("sequence batching specifies multiple " +
              Control::Kind_Name(control.kind()) + " tensors" + end,
          where);
    else if (control.kind() == Control::CONTROL_SEQUENCE_CORRID)
      checkId(control, where);
    else
      checkFlags(control, where);
  }
}

/// The values of a control that is on or off.
void SequenceCheck::checkFlags(const Control& control, const FieldPath& path) {
  struct Values {
    const char* field;
    int size;
  };
  const std::array<Values, 3> values = {
      {{"int32_false_true", control.int32_false_true_size()},
       {"fp32_false_true", control.fp32_false_true_size()},
       {"bool_false_true", control.bool_false_true_size()}}};
  const auto isGiven = [](const Values& each) { return each.size > 0; };
  const std::string rest = " for " + Control::Kind_Name(control.kind()) + end;
  const auto count = std::ranges::count_if(values, isGiven);
  if (count == 0)
    return add("sequence batching must specify either 'int32_false_true', "
               "'fp32_false_true' or 'bool_false_true'" +
                   rest,
               path);
  if (count > 1)
    return add("sequence batching specifies more than one from "
               "'int32_false_true', 'fp32_false_true' and 'bool_false_true'" +
                   rest,
               path);
  const Values& only = *std::ranges::find_if(values, isGiven);
  if (only.size != 2)
    add(std::string("sequence batching control '") + only.field +
            "' must have exactly 2 entries" + rest,
        path / only.field);
}

/// The control that has the sequence's id.
void SequenceCheck::checkId(const Control& control, const FieldPath& path) {
  const std::string kind = Control::Kind_Name(control.kind());
  if (control.int32_false_true_size() > 0 ||
      control.fp32_false_true_size() > 0 || control.bool_false_true_size() > 0)
    return add("sequence batching must not specify either 'int32_false_true', "
               "'fp32_false_true' or 'bool_false_true' for " +
                   kind + end,
               path);
  constexpr DataType types[] = {inference::TYPE_UINT64, inference::TYPE_INT64,
                                inference::TYPE_UINT32, inference::TYPE_INT32,
                                inference::TYPE_STRING};
  if (std::ranges::find(types, control.data_type()) == std::end(types))
    add("unexpected data type for control " + kind + end +
            ". Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, "
            "TYPE_INT32 and TYPE_STRING",
        path / "data_type");
}

void SequenceCheck::checkStrategy() {
  const FieldPath sizes = sequenceBatching / "oldest" / "preferred_batch_size";
  for (const int size : given.oldest().preferred_batch_size()) {
    if (size > 0 && size <= config.max_batch_size())
      continue;
    add(std::string("sequence batching preferred batch size must be ") +
            (size <= 0 ? "positive" : "<= max batch size") + end,
        sizes);
    break;
  }
  if (given.oldest().max_candidate_sequences() < 0)
    add("sequence batching maximum of candidate sequences must be "
        "non-negative" +
            end,
        sequenceBatching / "oldest" / "max_candidate_sequences");
  // Neither holds for a value that is no number.
  const float least = given.direct().minimum_slot_utilization();
  if (!(least >= 0 && least <= 1))
    add("sequence batching minimum slot utilization must be in range (0.0, "
        "1.0]" +
            end,
        sequenceBatching / "direct" / "minimum_slot_utilization");
}

int64_t bytesOfElement(DataType type) {
  switch (type) {
  case inference::TYPE_BOOL:
  case inference::TYPE_INT8:
  case inference::TYPE_UINT8:
    return 1;
  case inference::TYPE_INT16:
  case inference::TYPE_UINT16:
  case inference::TYPE_FP16:
  case inference::TYPE_BF16:
    return 2;
  case inference::TYPE_INT32:
  case inference::TYPE_UINT32:
  case inference::TYPE_FP32:
    return 4;
  default:
    return 8;
  }
}

void SequenceCheck::checkState(const State& state, const FieldPath& path) {
  const std::string named =
      "sequence batching state '" + state.input_name() + "' ";
  if (state.input_name().empty() || state.output_name().empty())
    return add("sequence batching state must specify 'input_name' and "
               "'output_name'" +
                   end,
               path);
  if (!states.insert(state.input_name()).second)
    add("State input name '" + state.input_name() +
            "' specified more than once.",
        path);
  if (state.data_type() == inference::TYPE_INVALID ||
      !inference::DataType_IsValid(state.data_type()))
    return add(named + "must specify 'data_type'" + end, path / "data_type");
  std::vector<int64_t> smallest; // a variable dimension is at least 1
  for (const int64_t size : state.dims())
    smallest.push_back(size == -1 ? 1 : size);
  const int64_t count = elementCountOf(smallest);
  int64_t bytes = 0;
  if (std::ranges::find(smallest, 0) != smallest.end() || count < 0 ||
      __builtin_mul_overflow(count, bytesOfElement(state.data_type()),
                             &bytes) ||
      bytes > mostStateBytes - stateBytes)
    return add(named +
                   "must have dimensions of at least 1, or -1, and states "
                   "at most 1 GiB in all" +
                   end,
               path / "dims");
  stateBytes += bytes;
  checkInitial(state, path / "initial_state");
}

void SequenceCheck::checkInitial(const State& state, const FieldPath& path) {
  const std::string& name = state.input_name();
  if (state.initial_state_size() > 1)
    return add("initial_state field for state input '" + name +
                   "' must contain exactly one or zero element. Found '" +
                   std::to_string(state.initial_state_size()) + "' elements.",
               path);
  if (state.initial_state().empty())
    return;
  const auto& initial = state.initial_state(0);
  if (initial.data_type() != state.data_type())
    return add("The data type used for 'initial_state' field of state '" +
                   name + "' does not match the state data type.",
               path);
  if (initial.name().empty())
    return add("Field 'name' must be set when using initial_state for state "
               "input '" +
                   name + "'.",
               path);
  if (initial.dims_size() != state.dims_size())
    return add("Number of dimensions in 'initial_state' doesn't match the "
               "size of 'state' dimensions for state input '" +
                   name + "'. " + std::to_string(initial.dims_size()) +
                   " != " + std::to_string(state.dims_size()),
               path);
  for (int i = 0; i < initial.dims_size(); ++i) {
    if (initial.dims(i) < 1)
      return add("'initial_state' field for state input name '" + name +
                     "' contains variable dimensions.",
                 path);
    if (state.dims(i) != -1 && initial.dims(i) != state.dims(i))
      return add("'initial_state' dim for input name '" + name +
                     "' doesn't match 'state' dim description. " +
                     std::to_string(initial.dims(i)) +
                     " != " + std::to_string(state.dims(i)),
                 path);
  }
  if (initial.state_data_case() ==
      ModelSequenceBatching::InitialState::STATE_DATA_NOT_SET)
    add("initial_state setting expects state'" + name +
            "' to have state_data set",
        path);
}

} // namespace

void checkSequenceBatching(const ModelConfig& config, ConfigMistakes& found) {
  if (config.has_sequence_batching())
    SequenceCheck(config, found).run();
}

} // namespace reciperun::server
