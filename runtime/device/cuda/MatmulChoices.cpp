// Reads and writes the file of chosen algorithms.

#include "runtime/device/cuda/MatmulChoices.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace reciperun::device {
namespace {

constexpr std::string_view firstLine = "reciperun matrix products 1";
constexpr std::string_view separator = " = ";

std::optional<MatmulChoices::Algorithm> parse(const std::string& words) {
  MatmulChoices::Algorithm algorithm;
  std::istringstream in(words);
  for (uint64_t& word : algorithm)
    if (!(in >> std::hex >> word))
      return std::nullopt;
  std::string rest;
  if (in >> rest)
    return std::nullopt;
  return algorithm;
}

std::string print(const MatmulChoices::Algorithm& algorithm) {
  std::string text;
  for (uint64_t word : algorithm) {
    char digits[18];
    std::snprintf(digits, sizeof digits, " %016" PRIx64, word);
    text += digits;
  }
  return text;
}

/// Locks a folder against other processes that also take this lock. When the
/// folder cannot be opened, writing fails as well.
class FileLock {
public:
  explicit FileLock(const std::filesystem::path& folder)
      : folder(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (this->folder >= 0)
      flock(this->folder, LOCK_EX);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (folder >= 0)
      close(folder);
  }

private:
  int folder;
};

} // namespace

std::filesystem::path MatmulChoices::defaultFile() {
  const std::filesystem::path name = "reciperun/matrix-products";
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return cache / name;
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / name;
  return {};
}

Status MatmulChoices::load(const std::filesystem::path& from) {
  file = from;
  known.clear();
  if (file.empty())
    return Status::ok();
  Status status = read(known);
  if (!status.isOk())
    file.clear(); // a foreign file is never overwritten
  return status;
}

Status MatmulChoices::read(Lines& lines) const {
  std::error_code none;
  if (!std::filesystem::exists(file, none))
    return Status::ok();
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line != firstLine)
    return Status::error("`" + file.string() +
                         "` is no list of matrix products and is ignored: "
                         "algorithms are measured again in each run");
  while (std::getline(in, line)) {
    const size_t at = line.find(separator);
    if (at == std::string::npos)
      continue; // truncated line; the matmul is measured again
    if (auto algorithm = parse(line.substr(at + separator.size())))
      lines[line.substr(0, at)] = *algorithm;
  }
  return Status::ok();
}

std::optional<MatmulChoices::Algorithm>
MatmulChoices::find(const std::string& key) const {
  const auto found = known.find(key);
  if (found == known.end())
    return std::nullopt;
  return found->second;
}

void MatmulChoices::keep(const std::string& key, const Algorithm& algorithm) {
  if (const auto found = known.find(key); found != known.end())
    refused.try_emplace(key, found->second);
  known[key] = algorithm;
  added[key] = algorithm;
}

Status MatmulChoices::save() {
  if (file.empty() || added.empty())
    return Status::ok();
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  const FileLock turn(file.parent_path());
  Lines lines;
  RECIPERUN_TRY(read(lines));
  for (const auto& [key, algorithm] : refused)
    if (const auto line = lines.find(key);
        line != lines.end() && line->second == algorithm)
      lines.erase(line);
  lines.insert(added.begin(), added.end());
  const std::filesystem::path aside =
      file.string() + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream out(aside);
  out << firstLine << '\n';
  for (const auto& [key, algorithm] : lines)
    out << key << " =" << print(algorithm) << '\n';
  out.close();
  if (out)
    std::filesystem::rename(aside, file, failure);
  if (out && !failure) {
    added.clear();
    refused.clear();
    return Status::ok();
  }
  std::error_code none;
  std::filesystem::remove(aside, none);
  return Status::error("cannot write `" + file.string() +
                       "`: algorithms are measured again in the next run");
}

} // namespace reciperun::device
