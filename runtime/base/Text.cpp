// See Text.h.

#include "runtime/base/Text.h"

#include <cstdarg>
#include <cstdio>

namespace reciperun {

std::string formatted(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string bytesText(int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

} // namespace reciperun
