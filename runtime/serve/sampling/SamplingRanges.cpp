// Membership in a range, and its wording.

#include "runtime/serve/sampling/SamplingRanges.h"

#include <charconv>
#include <cmath>

namespace reciperun::serve {

bool SamplingRange::contains(double value) const {
  return std::isfinite(value) && value <= most &&
         (excludesLeast ? value > least : value >= least);
}

std::string SamplingRange::text() const {
  const std::string low = shortestText(least);
  if (most == unbounded)
    return (excludesLeast ? "above " : "at least ") + low;
  const std::string high = shortestText(most);
  return excludesLeast ? "above " + low + " and at most " + high
                       : "from " + low + " to " + high;
}

std::string shortestText(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

} // namespace reciperun::serve
