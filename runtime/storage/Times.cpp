// See Times.h.

#include "runtime/storage/Times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

namespace reciperun::storage {
namespace {

constexpr double longestSeconds = 20;

/// Parses a time in UTC whose text goes on with `.` or `Z` or ends.
std::optional<std::time_t> parseUtc(const std::string& text,
                                    const char* format) {
  std::tm parts = {};
  const char* end = strptime(text.c_str(), format, &parts);
  if (!end || (*end && *end != '.' && *end != 'Z'))
    return std::nullopt;
  return timegm(&parts);
}

} // namespace

std::optional<std::time_t> parseIsoTime(const std::string& text) {
  return parseUtc(text, "%Y-%m-%dT%H:%M:%S");
}

std::optional<std::time_t> parseHttpDate(const std::string& text) {
  return parseUtc(text, "%a, %d %b %Y %H:%M:%S GMT");
}

void backOff(int number, double firstSeconds) {
  // Ranks that fail together must not try again together.
  thread_local std::mt19937_64 random{std::random_device()()};
  const double bound =
      std::min(longestSeconds, std::ldexp(firstSeconds, number - 1));
  const double pause = std::uniform_real_distribution<>(0, bound)(random);
  std::this_thread::sleep_for(std::chrono::duration<double>(pause));
}

} // namespace reciperun::storage
