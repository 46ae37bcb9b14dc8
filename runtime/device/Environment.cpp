// See Environment.h.

#include "runtime/device/Environment.h"

#include <cstdlib>

namespace reciperun::device {

void setEnvironment(std::span<const Variable> variables) {
  for (const Variable& each : variables)
    setenv(each.name, each.value.c_str(), each.wins == Variable::Wins::program);
}

} // namespace reciperun::device
