// sequence_batching of a model's configuration.

#ifndef RECIPERUN_SERVER_SCHEDULE_SEQUENCESETTINGS_H
#define RECIPERUN_SERVER_SCHEDULE_SEQUENCESETTINGS_H

#include "runtime/server/models/Tensor.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

/// An input by which the model learns of a request's place in its sequence.
struct SequenceControl {
  enum class Kind { start, ready, end, id };

  Kind kind = Kind::start;
  std::string input;
  DataType type = DataType::int32;
  std::string no = {}, yes = {}; // the data of the values; not for `id`
};

/// An output that is the input of the sequence's next request.
struct SequenceState {
  std::string input, output;
  Tensor initial;        // named after the input, without batch dimension
  bool isOutput = false; // is sent to the client, too
};

struct SequenceSettings {
  std::string model;
  bool batches = false;    // tensors have a batch dimension
  int64_t mostInBatch = 1; // requests, of different sequences
  size_t mostActive = 1;   // sequences at a time; others wait
  std::chrono::microseconds mostIdle{1'000'000}; // between two requests
  std::set<int64_t> preferredSizes;
  std::chrono::microseconds mostDelay{0};
  /// A batch of fewer requests waits for mostDelay.
  int64_t leastInBatch = 1;
  std::vector<SequenceControl> controls;
  std::vector<SequenceState> states;
};

SequenceSettings sequenceSettingsOf(const inference::ModelConfig& config);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_SEQUENCESETTINGS_H
