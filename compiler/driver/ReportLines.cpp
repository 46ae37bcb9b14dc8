// Lines of reports; see ReportLines.h.

#include "compiler/driver/ReportLines.h"

#include <algorithm>
#include <cstdio>

namespace recipec::driver {

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string reportLine(const std::string& name, const std::string& value) {
  constexpr size_t width = 28;
  return "  " + name + std::string(width - std::min(width, name.size()), ' ') +
         " " + value + "\n";
}

} // namespace recipec::driver
