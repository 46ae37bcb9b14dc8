// Dynamic batching: see ConfigChecks.h.

#include "runtime/server/config/ConfigChecks.h"

#include "runtime/server/config/model_config.pb.h"

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using inference::ModelDynamicBatching;
using inference::ModelQueuePolicy;

/// Each level has a queue.
constexpr uint64_t mostLevels = 1024;

const FieldPath dynamicBatching = "dynamic_batching";

void checkPreferredSizes(const ModelConfig& config, ConfigMistakes& found) {
  for (const int size : config.dynamic_batching().preferred_batch_size()) {
    if (size > 0 && size <= config.max_batch_size())
      continue;
    found.push_back({std::string("dynamic batching preferred size must be ") +
                         (size <= 0 ? "positive" : "<= max batch size") +
                         " for " + config.name(),
                     dynamicBatching / "preferred_batch_size"});
    return;
  }
}

void checkLevels(const ModelConfig& config, ConfigMistakes& found) {
  const ModelDynamicBatching& given = config.dynamic_batching();
  const uint64_t levels = given.priority_levels();
  const std::string end = " for " + config.name();
  if (levels == 0)
    return;
  if (levels > mostLevels) {
    found.push_back(
        {"priority levels must be at most " + std::to_string(mostLevels) + end,
         dynamicBatching / "priority_levels"});
    return;
  }
  const std::string range = "in range [1, " + std::to_string(levels) + "]";
  const auto isLevel = [&](uint64_t level) {
    return level >= 1 && level <= levels;
  };
  if (!isLevel(given.default_priority_level()))
    found.push_back({"default priority level must be " + range + end,
                     dynamicBatching / "default_priority_level"});
  for (const auto& [level, policy] : given.priority_queue_policy())
    if (!isLevel(level)) {
      found.push_back(
          {"priority queue policy must have priority level " + range + end,
           dynamicBatching / "priority_queue_policy"});
      return;
    }
}

/// Without a timeout the action never happens.
bool delays(const ModelQueuePolicy& policy) {
  return policy.default_timeout_microseconds() != 0 &&
         policy.timeout_action() == ModelQueuePolicy::DELAY;
}

void checkOrdering(const ModelConfig& config, ConfigMistakes& found) {
  const ModelDynamicBatching& given = config.dynamic_batching();
  if (!given.preserve_ordering())
    return;
  const std::string end =
      " when 'preserve_ordering' is true for " + config.name();
  if (given.priority_levels() > 1)
    found.push_back({"Only one priority level is allowed" + end,
                     dynamicBatching / "priority_levels"});
  const std::string text =
      "Queue policy can not have DELAY as timeout action" + end;
  if (delays(given.default_queue_policy()))
    found.push_back({text, dynamicBatching / "default_queue_policy"});
  for (const auto& [level, policy] : given.priority_queue_policy())
    if (delays(policy)) {
      found.push_back({text, dynamicBatching / "priority_queue_policy"});
      return;
    }
}

} // namespace

void checkDynamicBatching(const ModelConfig& config, ConfigMistakes& found) {
  if (!config.has_dynamic_batching())
    return;
  checkPreferredSizes(config, found);
  checkLevels(config, found);
  checkOrdering(config, found);
}

} // namespace reciperun::server
