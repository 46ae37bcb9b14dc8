// How the requests of a model wait and are batched: dynamic_batching of its
// configuration, with all defaults resolved.

#ifndef RECIPERUN_SERVER_SCHEDULE_BATCHSETTINGS_H
#define RECIPERUN_SERVER_SCHEDULE_BATCHSETTINGS_H

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

/// What happens to requests that wait.
struct QueuePolicy {
  bool delaysLate =
      false; // a late request goes behind all others; else it fails
  std::chrono::microseconds timeout{0}; // 0: none
  bool allowsOverride = false;          // by the request's own timeout
  size_t mostWaiting = 0;               // 0: any number
};

struct BatchSettings {
  int64_t mostInBatch = 1; // elements
  /// Whether a batch may have more than one request.
  bool isDynamic = false;
  std::set<int64_t> preferredSizes;
  std::chrono::microseconds mostDelay{0};
  bool keepsOrder = false;
  /// By priority, 1 being the first and highest; at least one.
  std::vector<QueuePolicy> policies{QueuePolicy()};
  size_t defaultPriority = 1;
  /// Inputs whose shapes may differ within a batch.
  std::set<std::string> raggedInputs;
};

BatchSettings batchSettingsOf(const inference::ModelConfig& config);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_BATCHSETTINGS_H
