// open(2), fstat(2), pread(2), close(2).

#include "runtime/base/InputFile.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace reciperun {

namespace {

/// Linux reads at most 2 GiB per call; smaller pieces are as fast.
constexpr size_t pieceBytes = size_t(64) << 20;

Status failure(const std::string& what, int cause) {
  std::string reason = std::strerror(cause);
  if (rlimit limit = {};
      cause == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    reason += "; raise the limit of " + std::to_string(limit.rlim_cur) +
              " (`ulimit -n`) or join files";
  return Status::error("cannot read " + what + ": " + reason);
}

std::string quoted(const std::filesystem::path& path) {
  return "`" + path.string() + "`";
}

/// The kind of a file that is not a regular one.
const char* kindOf(mode_t mode) {
  if (S_ISDIR(mode))
    return "a folder";
  if (S_ISFIFO(mode))
    return "a FIFO";
  if (S_ISSOCK(mode))
    return "a socket";
  return "a device";
}

Status checkKind(const std::filesystem::path& path, const struct stat& facts) {
  if (S_ISREG(facts.st_mode))
    return {};
  return Status::error("cannot read " + quoted(path) + ": it is " +
                       kindOf(facts.st_mode) + ", not a regular file");
}

} // namespace

InputFile::InputFile(std::filesystem::path path, int descriptor)
    : where(std::move(path)), descriptor(descriptor) {}

InputFile::InputFile(InputFile&& other) noexcept
    : where(std::move(other.where)),
      descriptor(std::exchange(other.descriptor, -1)),
      remote(std::move(other.remote)), bytes(other.bytes) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(where, other.where);
  std::swap(descriptor, other.descriptor);
  std::swap(remote, other.remote);
  bytes = other.bytes;
  return *this;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Expected<InputFile> InputFile::open(const std::filesystem::path& path) {
  return isAddress(path) ? openRemote(path) : openLocal(path);
}

Expected<InputFile> InputFile::openNearby(const std::filesystem::path& path) {
  if (!isAddress(path))
    return openLocal(path);
  Expected<RemoteFiles*> files = remoteFilesOf(path);
  RECIPERUN_TRY(files);
  Expected<std::filesystem::path> copy = (*files)->localCopy(path.string());
  RECIPERUN_TRY(copy);
  Expected<InputFile> file = openLocal(*copy);
  if (file)
    file->where = path; // the name that the user knows
  return file;
}

Expected<InputFile>
InputFile::openRemote(const std::filesystem::path& address) {
  Expected<RemoteFiles*> files = remoteFilesOf(address);
  RECIPERUN_TRY(files);
  Expected<std::unique_ptr<RemoteInput>> opened =
      (*files)->open(address.string());
  RECIPERUN_TRY(opened);
  InputFile file(address, -1);
  file.remote = *std::move(opened);
  file.bytes = file.remote->size();
  return file;
}

/// Checks the kind before opening, since opening a device may have side
/// effects, and again after opening, since the path may have changed in
/// between.
Expected<InputFile> InputFile::openLocal(const std::filesystem::path& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0)
    return failure(quoted(path), errno);
  RECIPERUN_TRY(checkKind(path, facts));
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return failure(quoted(path), errno);
  InputFile file(path, descriptor);
  if (fstat(descriptor, &facts) != 0)
    return failure(quoted(path), errno);
  RECIPERUN_TRY(checkKind(path, facts));
  file.bytes = facts.st_size;
  return file;
}

Status InputFile::read(std::span<const FileRange> ranges) const {
  if (!remote) {
    for (const FileRange& range : ranges)
      RECIPERUN_TRY(read(range.offset, range.out));
    return {};
  }
  for (const FileRange& range : ranges)
    if (range.offset + int64_t(range.out.size()) > bytes)
      return Status::error(
          quoted(where) + " ends at byte " + std::to_string(bytes) + ", " +
          std::to_string(range.offset + int64_t(range.out.size()) - bytes) +
          " bytes before it should");
  return remote->read(ranges);
}

Status InputFile::read(int64_t offset, std::span<std::byte> out) const {
  if (remote) {
    const FileRange range{offset, out};
    return read(std::span(&range, 1));
  }
  while (!out.empty()) {
    const ssize_t count =
        pread(descriptor, out.data(), std::min(out.size(), pieceBytes), offset);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failure(quoted(where) + " at its byte " + std::to_string(offset) +
                         " of " + std::to_string(bytes),
                     errno);
    if (count == 0)
      return Status::error(
          quoted(where) + " ends at byte " + std::to_string(offset) + ", " +
          std::to_string(out.size()) + " bytes before it should");
    out = out.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return {};
}

Expected<std::string> readTextFile(const std::filesystem::path& path,
                                   int64_t limit) {
  const Expected<InputFile> file = InputFile::open(path);
  RECIPERUN_TRY(file);
  if (file->size() > limit)
    return Status::error(quoted(path) + " has " + std::to_string(file->size()) +
                         " bytes, more than the " + std::to_string(limit) +
                         " that such a file may have");
  try {
    std::string text(static_cast<size_t>(file->size()), '\0');
    RECIPERUN_TRY(file->read(0, std::as_writable_bytes(std::span(text))));
    return text;
  } catch (const std::bad_alloc&) {
    return failure("the " + std::to_string(file->size()) + " bytes of " +
                       quoted(path),
                   ENOMEM);
  }
}

} // namespace reciperun
