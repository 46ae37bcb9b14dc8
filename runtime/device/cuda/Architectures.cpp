// See Architectures.h.

#include "runtime/device/cuda/Architectures.h"

#include <algorithm>
#include <iterator>

namespace reciperun::device {
namespace {

/// Compute capabilities, times 10.
constexpr int builtFor[] = {RECIPERUN_CUDA_ARCHITECTURES};

const char* gpusOf(int architecture) {
  switch (architecture) {
  case 90:
    return " (H100, H200)";
  case 100:
    return " (B200, GB200)";
  default:
    return "";
  }
}

} // namespace

bool isBuiltFor(int major, int minor) {
  return std::ranges::find(builtFor, 10 * major + minor) != std::end(builtFor);
}

std::string architectureNames() {
  std::string names;
  for (const int architecture : builtFor)
    names += (names.empty() ? "" : " and ") +
             std::to_string(architecture / 10) + "." +
             std::to_string(architecture % 10) + gpusOf(architecture);
  return names;
}

} // namespace reciperun::device
