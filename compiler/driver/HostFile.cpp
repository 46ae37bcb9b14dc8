// See HostFile.h.

#include "compiler/driver/HostFile.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace recipec::driver {
namespace {

/// The value of `slots=` in a line; `max_slots=` is ignored.
std::optional<int> slotsIn(std::string_view line) {
  constexpr std::string_view key = " slots=";
  const size_t at = line.find(key);
  int slots = 0;
  if (at == line.npos)
    return std::nullopt;
  line.remove_prefix(at + key.size());
  const auto read =
      std::from_chars(line.data(), line.data() + line.size(), slots);
  return read.ec == std::errc() ? std::optional(slots) : std::nullopt;
}

} // namespace

std::optional<HostSlots> slotsOf(const std::string& path) {
  std::ifstream file(path);
  HostSlots all;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    const std::optional<int> slots = slotsIn(line);
    if (!slots)
      return std::nullopt;
    ++all.hosts;
    all.slots += *slots;
  }
  return all.hosts > 0 ? std::optional(all) : std::nullopt;
}

} // namespace recipec::driver
