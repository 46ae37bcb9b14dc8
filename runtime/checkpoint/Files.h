// Atomic file output for checkpoints. An OutputFile appears under its name only
// when all its data is on the disk.

#ifndef RECIPERUN_CHECKPOINT_FILES_H
#define RECIPERUN_CHECKPOINT_FILES_H

#include "runtime/base/InputFile.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// An owned file descriptor.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return number; }
  bool isOpen() const { return number >= 0; }
  /// Closes the descriptor; false when the system reports a failed write.
  bool close();

private:
  int number = -1;
};

/// A file that is written sequentially. It is written as `PATH.partial` and
/// renamed by `commit`; an uncommitted file is removed. The path may be an
/// address (base/RemoteFiles.h).
///
/// Data that is aligned to `unitBytes` in memory and in the file bypasses the
/// page cache if the file system supports it (O_DIRECT of open(2)): filling the
/// cache with a checkpoint takes CPU time from the training.
class OutputFile {
public:
  /// The alignment that devices and file systems require for memory and
  /// offsets, or a multiple of it.
  static constexpr size_t unitBytes = 4096;

  static Expected<OutputFile> create(const std::filesystem::path& path,
                                     const OutputHints& hints = {});
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::filesystem::path& path() const { return where; }
  Status append(std::span<const std::byte> data);
  /// Overwrites some of the first OutputHints::rewritten bytes.
  Status rewrite(int64_t at, std::span<const std::byte> data);
  /// Flushes the data to the disk (fsync), then renames the file. A remote file
  /// of the same name may be refused; a local one is replaced.
  Status commit(Earlier earlier = Earlier::replace);

private:
  OutputFile() = default;
  std::filesystem::path partialPath() const;
  size_t bytesAroundCache(std::span<const std::byte> data) const;

  std::filesystem::path where;
  Descriptor descriptor;
  Descriptor direct; // not open when the file system always uses the cache
  std::unique_ptr<RemoteOutput> remote; // in place of the descriptors
  int64_t offset = 0;
};

using reciperun::readTextFile;

/// Writes a whole file atomically. See OutputFile::commit.
Status writeTextFile(const std::filesystem::path& path, std::string_view text,
                     Earlier earlier = Earlier::replace);

/// The paths of a folder's entries, sorted by name.
Expected<std::vector<std::filesystem::path>>
entriesOf(const std::filesystem::path& directory);

/// Fails when a folder at an address cannot be listed: without access, without
/// such a bucket. Others are left to their readers.
Status checkListable(const std::filesystem::path& folder);

/// The bytes of the files in a folder. A remote folder is listed once, when the
/// first file is asked for.
class FileSizes {
public:
  explicit FileSizes(std::filesystem::path folder)
      : folder(std::move(folder)) {}
  /// The bytes of a file; nullopt when it is proven not to exist.
  Expected<std::optional<int64_t>> of(const std::string& name);

private:
  Expected<std::optional<int64_t>> ofRemote(const std::string& name);

  std::filesystem::path folder;
  std::optional<std::map<std::string, int64_t>> remote;
};

/// Checks that a remote folder can be written to, by a small file `writeProbe`
/// that is removed again.
inline constexpr const char* writeProbe = ".write-test";
Status checkRemoteWrites(const std::filesystem::path& folder);

/// Removes remote files below a folder: first `manifest`, if it names one, then
/// the others. A reader never sees a manifest without its files.
Status removeRemoteFolder(const std::filesystem::path& folder,
                          const std::string& manifest);

/// Flushes a folder's entries to the disk. A remote folder needs none of this.
Status syncDirectory(const std::filesystem::path& directory);

/// The error "cannot VERB `path`: system's message" of a failed system call.
Status systemError(std::string_view verb, const std::filesystem::path& path,
                   int errorNumber);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FILES_H
