// See HostFile.h.

#include "runtime/launch/HostFile.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string_view>

namespace reciperun::launch {
namespace {

/// The value of `slots=` in a line, or -1; `max_slots=` is ignored.
int slotsIn(std::string_view line) {
  constexpr std::string_view key = " slots=";
  const size_t at = line.find(key);
  int slots = 0;
  if (at == line.npos)
    return -1;
  line.remove_prefix(at + key.size());
  const auto read =
      std::from_chars(line.data(), line.data() + line.size(), slots);
  return read.ec == std::errc() ? slots : -1;
}

} // namespace

std::optional<std::vector<Host>> hostsOf(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return std::nullopt;
  constexpr const char* blanks = " \t\r";
  std::vector<Host> hosts;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    std::ranges::replace(line, '\t', ' ');
    const size_t begin = line.find_first_not_of(blanks);
    if (begin == line.npos)
      continue;
    const size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    hosts.push_back({line.substr(begin, end - begin), slotsIn(line), line});
  }
  return hosts;
}

std::vector<std::string> namesOf(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts)
    if (std::ranges::find(names, host.name) == names.end())
      names.push_back(host.name);
  return names;
}

std::vector<Host> hostsWithout(const std::vector<Host>& hosts,
                               const std::vector<std::string>& names) {
  std::vector<Host> rest;
  for (const Host& host : hosts)
    if (std::ranges::find(names, host.name) == names.end())
      rest.push_back(host);
  return rest;
}

int writeHosts(const std::string& path, const std::vector<Host>& hosts) {
  errno = 0;
  std::ofstream file(path);
  for (const Host& host : hosts)
    file << host.line << '\n';
  file.close();
  return file ? 0 : errno ? errno : EIO;
}

std::optional<int> slotsOf(const std::vector<Host>& hosts) {
  int slots = 0;
  for (const Host& host : hosts) {
    if (host.slots < 0)
      return std::nullopt;
    slots += host.slots;
  }
  return hosts.empty() ? std::nullopt : std::optional(slots);
}

} // namespace reciperun::launch
