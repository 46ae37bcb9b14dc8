// See BatchSettings.h.

#include "runtime/server/schedule/BatchSettings.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>

namespace reciperun::server {
namespace {

using std::chrono::microseconds;

QueuePolicy policyOf(const inference::ModelQueuePolicy& given) {
  return {.delaysLate =
              given.timeout_action() == inference::ModelQueuePolicy::DELAY,
          .timeout = microseconds(given.default_timeout_microseconds()),
          .allowsOverride = given.allow_timeout_override(),
          .mostWaiting = given.max_queue_size()};
}

} // namespace

BatchSettings batchSettingsOf(const inference::ModelConfig& config) {
  BatchSettings made;
  made.mostInBatch = std::max(1, config.max_batch_size());
  for (const inference::ModelInput& input : config.input())
    if (input.allow_ragged_batch())
      made.raggedInputs.insert(input.name());
  if (!config.has_dynamic_batching())
    return made;
  const inference::ModelDynamicBatching& given = config.dynamic_batching();
  made.isDynamic = true;
  made.preferredSizes.insert(given.preferred_batch_size().begin(),
                             given.preferred_batch_size().end());
  made.mostDelay = microseconds(given.max_queue_delay_microseconds());
  made.keepsOrder = given.preserve_ordering();
  made.policies.assign(std::max<uint64_t>(1, given.priority_levels()),
                       policyOf(given.default_queue_policy()));
  for (const auto& [level, policy] : given.priority_queue_policy())
    if (level >= 1 && level <= made.policies.size())
      made.policies[level - 1] = policyOf(policy);
  if (given.default_priority_level() >= 1)
    made.defaultPriority = given.default_priority_level();
  return made;
}

} // namespace reciperun::server
