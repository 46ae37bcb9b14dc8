// Names of serving policies.

#include "runtime/ops/ServingPolicy.h"

#include "runtime/ops/FindName.h"

namespace reciperun::ops {
namespace {

// In the order of the enumerators.
constexpr const char* names[] = {"guaranteed_no_evict", "max_utilization"};

} // namespace

const char* nameOf(ServingPolicy policy) {
  return names[size_t(policy)];
}

std::optional<ServingPolicy> findServingPolicy(std::string_view name) {
  return findName<ServingPolicy>(names, name);
}

} // namespace reciperun::ops
