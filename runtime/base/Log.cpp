// See Log.h.

#include "runtime/base/Log.h"

#include <atomic>
#include <cstdio>

namespace reciperun {
namespace {

std::atomic<LogLevel> lowest = LogLevel::info;

const char* prefixOf(LogLevel level) {
  switch (level) {
  case LogLevel::debug:
    return "debug: ";
  case LogLevel::info:
    return "note: ";
  case LogLevel::warning:
    return "warning: ";
  case LogLevel::error:
    break;
  }
  return "error: ";
}

} // namespace

void setLogLevel(LogLevel level) {
  lowest = level;
}

bool logs(LogLevel level) {
  return level >= lowest;
}

void logLine(LogLevel level, const std::string& message) {
  if (logs(level)) // one call: lines of two threads do not mix
    std::fputs((prefixOf(level) + message + "\n").c_str(), stderr);
}

} // namespace reciperun
