// Adds up durations of several units; see Durations.h.

#include "compiler/parse/Durations.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

namespace recipec::parse {
namespace {

struct DurationUnit {
  std::string_view own;
  int64_t milliseconds;
  std::string_view names; // with blanks around them
};

// From the largest to the smallest.
constexpr DurationUnit durationUnits[] = {
    {"d", 86'400'000, " d day days "},
    {"h", 3'600'000, " h hr hrs hour hours "},
    {"min", 60'000, " m min mins minute minutes "},
    {"s", 1000, " s sec secs second seconds "},
    {"ms", 1, " ms msec milliseconds "},
};

const DurationUnit* unitCalled(std::string_view name) {
  const std::string word = " " + std::string(name) + " ";
  const auto* found =
      std::find_if(std::begin(durationUnits), std::end(durationUnits),
                   [&](const DurationUnit& unit) {
                     return unit.names.find(word) != unit.names.npos;
                   });
  return found == std::end(durationUnits) ? nullptr : found;
}

/// Takes the characters from the front of `text` for which `test` holds.
template <class Test>
std::string_view takeWhile(std::string_view& text, Test test) {
  size_t length = 0;
  while (length < text.size() && test(static_cast<unsigned char>(text[length])))
    ++length;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

} // namespace

std::optional<std::string> inOneUnit(std::string_view text) {
  constexpr int64_t largest = 1'000'000; // of one unit
  auto isSpace = [](unsigned char c) { return c == ' '; };
  const DurationUnit* last = nullptr;
  int64_t total = 0;
  int parts = 0;
  for (; !text.empty(); ++parts) {
    const std::string_view digits =
        takeWhile(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    takeWhile(text, isSpace);
    const DurationUnit* unit = unitCalled(
        takeWhile(text, [](unsigned char c) { return std::isalpha(c) != 0; }));
    takeWhile(text, isSpace);
    int64_t count = 0;
    const auto error =
        std::from_chars(digits.data(), digits.data() + digits.size(), count).ec;
    const bool isSmaller =
        unit && (!last || unit->milliseconds < last->milliseconds);
    if (error != std::errc() || !isSmaller || count > largest)
      return std::nullopt;
    total += count * unit->milliseconds;
    last = unit;
  }
  if (parts < 2)
    return std::nullopt;
  return std::to_string(total / last->milliseconds) + std::string(last->own);
}

} // namespace recipec::parse
