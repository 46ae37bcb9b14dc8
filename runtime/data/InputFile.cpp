// open(2), pread(2), close(2).

#include "runtime/data/InputFile.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace reciperun::data {

namespace {

Status failure(const std::string& path) {
  std::string reason = std::strerror(errno);
  if (rlimit limit = {};
      errno == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    reason += "; raise the limit of " + std::to_string(limit.rlim_cur) +
              " (`ulimit -n`) or join files";
  return Status::error("cannot read `" + path + "`: " + reason);
}

} // namespace

InputFile::InputFile(std::string path, int descriptor, int64_t bytes)
    : ownPath(std::move(path)), descriptor(descriptor), bytes(bytes) {}

InputFile::InputFile(InputFile&& other) noexcept
    : ownPath(std::move(other.ownPath)),
      descriptor(std::exchange(other.descriptor, -1)), bytes(other.bytes) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(ownPath, other.ownPath);
  std::swap(descriptor, other.descriptor);
  bytes = other.bytes;
  return *this;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Expected<InputFile> InputFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failure(path);
  InputFile file(path, descriptor, 0);
  struct stat found = {};
  if (fstat(descriptor, &found) != 0)
    return failure(path);
  file.bytes = found.st_size;
  return file;
}

Status InputFile::read(int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = pread(descriptor, out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failure(ownPath);
    if (count == 0)
      return Status::error(
          "`" + ownPath + "` ends at byte " + std::to_string(offset) + ", " +
          std::to_string(out.size()) + " bytes before it should");
    out = out.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return {};
}

} // namespace reciperun::data
