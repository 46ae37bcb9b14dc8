// See SequenceSettings.h.

#include "runtime/server/schedule/SequenceSettings.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <cmath>

namespace reciperun::server {
namespace {

using std::chrono::microseconds;
using Control = inference::ModelSequenceBatching::Control;

template <class T> std::string dataOf(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

SequenceControl controlOf(const std::string& input, const Control& given) {
  SequenceControl made{.input = input};
  switch (given.kind()) {
  case Control::CONTROL_SEQUENCE_READY:
    made.kind = SequenceControl::Kind::ready;
    break;
  case Control::CONTROL_SEQUENCE_END:
    made.kind = SequenceControl::Kind::end;
    break;
  case Control::CONTROL_SEQUENCE_CORRID:
    made.kind = SequenceControl::Kind::id;
    made.type = dataTypeOf(int(given.data_type())).value_or(DataType::uint64);
    return made;
  default:
    break;
  }
  if (given.int32_false_true_size() == 2) {
    made.no = dataOf<int32_t>(given.int32_false_true(0));
    made.yes = dataOf<int32_t>(given.int32_false_true(1));
  } else if (given.fp32_false_true_size() == 2) {
    made.type = DataType::fp32;
    made.no = dataOf<float>(given.fp32_false_true(0));
    made.yes = dataOf<float>(given.fp32_false_true(1));
  } else if (given.bool_false_true_size() == 2) {
    made.type = DataType::boolean;
    made.no = dataOf<uint8_t>(given.bool_false_true(0));
    made.yes = dataOf<uint8_t>(given.bool_false_true(1));
  }
  return made;
}

SequenceState stateOf(const inference::ModelSequenceBatching::State& given,
                      const inference::ModelConfig& config) {
  SequenceState made{.input = given.input_name(),
                     .output = given.output_name(),
                     .initial = {}};
  made.isOutput = std::ranges::any_of(
      config.output(), [&](const inference::ModelOutput& output) {
        return output.name() == given.output_name();
      });
  made.initial.name = given.input_name();
  made.initial.type =
      dataTypeOf(int(given.data_type())).value_or(DataType::fp32);
  for (const int64_t size : given.dims())
    made.initial.shape.push_back(std::max<int64_t>(1, size));
  made.initial.data.assign(size_t(elementsOf(made.initial.shape).value_or(0)) *
                               bytesOf(made.initial.type),
                           '\0');
  return made;
}

size_t instancesOf(const inference::ModelConfig& config) {
  size_t all = 0;
  for (const inference::ModelInstanceGroup& group : config.instance_group())
    all += size_t(std::max(1, group.count()));
  return std::max<size_t>(1, all);
}

} // namespace

SequenceSettings sequenceSettingsOf(const inference::ModelConfig& config) {
  const inference::ModelSequenceBatching& given = config.sequence_batching();
  SequenceSettings made;
  made.model = config.name();
  made.batches = config.max_batch_size() > 0;
  made.mostInBatch = std::max(1, config.max_batch_size());
  if (given.max_sequence_idle_microseconds() > 0)
    made.mostIdle = microseconds(given.max_sequence_idle_microseconds());
  if (given.has_oldest()) {
    made.mostActive =
        instancesOf(config) *
        size_t(std::max(1, given.oldest().max_candidate_sequences()));
    made.preferredSizes.insert(given.oldest().preferred_batch_size().begin(),
                               given.oldest().preferred_batch_size().end());
    made.mostDelay =
        microseconds(given.oldest().max_queue_delay_microseconds());
    made.leastInBatch = made.mostInBatch;
  } else {
    made.mostActive = instancesOf(config) * size_t(made.mostInBatch);
    made.mostDelay =
        microseconds(given.direct().max_queue_delay_microseconds());
    made.leastInBatch = int64_t(std::ceil(
        given.direct().minimum_slot_utilization() * made.mostInBatch));
  }
  for (const auto& input : given.control_input())
    for (const Control& control : input.control())
      made.controls.push_back(controlOf(input.name(), control));
  for (const auto& state : given.state())
    made.states.push_back(stateOf(state, config));
  return made;
}

} // namespace reciperun::server
