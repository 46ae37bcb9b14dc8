// POSIX writes that become visible only when complete.

#include "runtime/checkpoint/Files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace reciperun::checkpoint {
namespace {

/// Linux writes at most 2 GiB per call; a smaller piece is as fast.
constexpr size_t pieceBytes = size_t(64) << 20;

Expected<std::vector<RemoteEntry>>
listRemote(const std::filesystem::path& folder, RemoteFiles::Depth depth) {
  Expected<RemoteFiles*> files = remoteFilesOf(folder);
  RECIPERUN_TRY(files);
  return (*files)->list(folder.string(), depth);
}

} // namespace

Status systemError(std::string_view verb, const std::filesystem::path& path,
                   int errorNumber) {
  std::string reason = std::generic_category().message(errorNumber);
  if (!reason.empty())
    reason[0] = static_cast<char>(tolower(reason[0]));
  return Status::error("cannot " + std::string(verb) + " `" + path.string() +
                       "`: " + reason);
}

// ---- Descriptor

Descriptor::Descriptor(Descriptor&& other) noexcept : number(other.number) {
  other.number = -1;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number, other.number);
  return *this;
}

Descriptor::~Descriptor() {
  close();
}

bool Descriptor::close() {
  if (number < 0)
    return true;
  int closing = number;
  number = -1;
  return ::close(closing) == 0;
}

// ---- OutputFile

std::filesystem::path OutputFile::partialPath() const {
  std::filesystem::path partial = where;
  partial += ".partial";
  return partial;
}

Expected<OutputFile> OutputFile::create(const std::filesystem::path& path,
                                        const OutputHints& hints) {
  OutputFile file;
  file.where = path;
  if (isAddress(path)) {
    Expected<RemoteFiles*> files = remoteFilesOf(path);
    RECIPERUN_TRY(files);
    auto created = (*files)->create(path.string(), hints);
    RECIPERUN_TRY(created);
    file.remote = *std::move(created);
    return file;
  }
  file.descriptor =
      Descriptor(::open(file.partialPath().c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.descriptor.isOpen())
    return systemError("write", file.partialPath(), errno);
  // Without support by the file system all bytes go through the cache.
  file.direct = Descriptor(
      ::open(file.partialPath().c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
  return file;
}

OutputFile::~OutputFile() {
  if (descriptor.isOpen())
    unlink(partialPath().c_str());
}

/// The number of the next bytes that can bypass the cache.
size_t OutputFile::bytesAroundCache(std::span<const std::byte> data) const {
  const bool isAligned =
      size_t(offset) % unitBytes == 0 &&
      reinterpret_cast<uintptr_t>(data.data()) % unitBytes == 0;
  return direct.isOpen() && isAligned ? data.size() / unitBytes * unitBytes : 0;
}

Status OutputFile::append(std::span<const std::byte> data) {
  if (remote)
    return remote->append(data);
  while (!data.empty()) {
    size_t around = bytesAroundCache(data);
    const Descriptor& to = around ? direct : descriptor;
    size_t bytes = std::min(around ? around : data.size(), pieceBytes);
    ssize_t put = pwrite(to.get(), data.data(), bytes, offset);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0 && errno == EINVAL && around) { // larger alignment required
      direct.close();
      continue;
    }
    if (put < 0)
      return systemError("write", partialPath(), errno);
    offset += put;
    data = data.subspan(static_cast<size_t>(put));
  }
  return Status::ok();
}

Status OutputFile::rewrite(int64_t at, std::span<const std::byte> data) {
  if (remote)
    return remote->rewrite(at, data);
  while (!data.empty()) {
    ssize_t put = pwrite(descriptor.get(), data.data(), data.size(), at);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return systemError("write", partialPath(), errno);
    at += put;
    data = data.subspan(static_cast<size_t>(put));
  }
  return Status::ok();
}

Status OutputFile::commit(Earlier earlier) {
  if (remote)
    return remote->commit(earlier);
  if (fsync(descriptor.get()) != 0)
    return systemError("write", partialPath(), errno);
  if (rename(partialPath().c_str(), where.c_str()) != 0)
    return systemError("write", where, errno);
  if (!descriptor.close())
    return systemError("write", where, errno);
  return Status::ok();
}

// ---- whole files

Status writeTextFile(const std::filesystem::path& path, std::string_view text,
                     Earlier earlier) {
  Expected<OutputFile> file = OutputFile::create(path);
  RECIPERUN_TRY(file);
  RECIPERUN_TRY(file->append(std::as_bytes(std::span(text))));
  return file->commit(earlier);
}

Expected<std::vector<std::filesystem::path>>
entriesOf(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> entries;
  std::error_code code;
  if (isAddress(directory)) {
    auto listed = listRemote(directory, RemoteFiles::Depth::entries);
    RECIPERUN_TRY(listed);
    for (const RemoteEntry& entry : *listed)
      entries.push_back(directory / entry.name);
    return entries;
  }
  for (std::filesystem::directory_iterator at(directory, code), end;
       !code && at != end; at.increment(code))
    entries.push_back(at->path());
  if (code)
    return systemError("read", directory, code.value());
  std::sort(entries.begin(), entries.end());
  return entries;
}

Status checkListable(const std::filesystem::path& folder) {
  return isAddress(folder) ? entriesOf(folder).status() : Status::ok();
}

Expected<std::optional<int64_t>> FileSizes::of(const std::string& name) {
  if (isAddress(folder))
    return ofRemote(name);
  const std::filesystem::path path = folder / name;
  if (isAbsent(path))
    return std::optional<int64_t>();
  std::error_code code;
  const uintmax_t bytes = std::filesystem::file_size(path, code);
  if (code)
    return systemError("read", path, code.value());
  return std::optional(int64_t(bytes));
}

Expected<std::optional<int64_t>> FileSizes::ofRemote(const std::string& name) {
  if (!remote) {
    auto listed = listRemote(folder, RemoteFiles::Depth::entries);
    RECIPERUN_TRY(listed);
    remote.emplace();
    for (const RemoteEntry& entry : *listed)
      if (!entry.isFolder)
        remote->emplace(entry.name, entry.bytes);
  }
  const auto found = remote->find(name);
  return found == remote->end() ? std::optional<int64_t>()
                                : std::optional(found->second);
}

Status checkRemoteWrites(const std::filesystem::path& folder) {
  Expected<RemoteFiles*> files = remoteFilesOf(folder);
  RECIPERUN_TRY(files);
  const std::string probe = (folder / writeProbe).string();
  RECIPERUN_TRY(writeTextFile(probe, "written to test access; remove it\n"));
  return (*files)->remove(std::span(&probe, 1));
}

Status removeRemoteFolder(const std::filesystem::path& folder,
                          const std::string& manifest) {
  Expected<RemoteFiles*> files = remoteFilesOf(folder);
  RECIPERUN_TRY(files);
  auto listed = listRemote(folder, RemoteFiles::Depth::allFiles);
  RECIPERUN_TRY(listed);
  std::vector<std::string> first, others;
  for (const RemoteEntry& entry : *listed)
    (entry.name == manifest ? first : others)
        .push_back((folder / entry.name).string());
  RECIPERUN_TRY((*files)->remove(first));
  return (*files)->remove(others);
}

Status syncDirectory(const std::filesystem::path& directory) {
  if (isAddress(directory))
    return Status::ok();
  Descriptor descriptor(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.isOpen())
    return systemError("open", directory, errno);
  // Some network file systems cannot sync a folder. The files themselves have
  // been synced, so this is not an error.
  if (fsync(descriptor.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    return systemError("write", directory, errno);
  return Status::ok();
}

} // namespace reciperun::checkpoint
