// When a server starts a waiting sequence.

#ifndef RECIPERUN_OPS_SERVINGPOLICY_H
#define RECIPERUN_OPS_SERVINGPOLICY_H

#include <optional>
#include <string_view>

namespace reciperun::ops {

enum class ServingPolicy {
  /// When the cache has pages for its whole prompt and longest answer, so that
  /// no sequence is preempted.
  guaranteedNoEvict,
  /// When the cache has pages for its prompt. When pages run out, the last
  /// sequence of the lowest priority is preempted: its pages are freed, and it
  /// is computed again later.
  maxUtilization,
};

/// `guaranteed_no_evict`, `max_utilization`.
const char* nameOf(ServingPolicy policy);
std::optional<ServingPolicy> findServingPolicy(std::string_view name);

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_SERVINGPOLICY_H
