// See Labels.h.

#include "compiler/launch/Labels.h"

#include <cstdint>

namespace recipec::launch {
namespace {

/// Room for the suffixes of pods, such as `-worker-1023`, in a label.
constexpr size_t longestName = longestLabel - 15;

bool isLetter(char c) {
  return c >= 'a' && c <= 'z';
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// FNV-1a of 32 bits in hexadecimal.
std::string hashOf(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text)
    hash = (hash ^ uint8_t(c)) * 16777619u;
  std::string digits;
  for (int shift = 28; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

void trimEnd(std::string& label) {
  while (label.ends_with('-'))
    label.pop_back();
}

} // namespace

std::string labelOf(std::string_view text) {
  std::string label;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    if (isLetter(lower) || isDigit(lower))
      label += lower;
    else if (!label.empty() && !label.ends_with('-'))
      label += '-';
  }
  trimEnd(label);
  if (label.empty() || !isLetter(label.front()))
    label = label.empty() ? "job" : "job-" + label;
  if (label.size() <= longestName)
    return label;
  const std::string hash = hashOf(text);
  label.resize(longestName - hash.size() - 1);
  trimEnd(label);
  return label + "-" + hash;
}

} // namespace recipec::launch
