// Atomic file output for checkpoints. An OutputFile appears under its name only
// when all its data is on the disk.

#ifndef RECIPERUN_CHECKPOINT_FILES_H
#define RECIPERUN_CHECKPOINT_FILES_H

#include "runtime/base/InputFile.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
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
/// renamed by `commit`; an uncommitted file is removed.
///
/// Data that is aligned to `unitBytes` in memory and in the file bypasses the
/// page cache if the file system supports it (O_DIRECT of open(2)): filling the
/// cache with a checkpoint takes CPU time from the training.
class OutputFile {
public:
  /// The alignment that devices and file systems require for memory and
  /// offsets, or a multiple of it.
  static constexpr size_t unitBytes = 4096;

  static Expected<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::filesystem::path& path() const { return where; }
  Status append(std::span<const std::byte> data);
  /// Overwrites bytes that have been appended.
  Status rewrite(int64_t at, std::span<const std::byte> data);
  /// Flushes the data to the disk (fsync), then renames the file.
  Status commit();

private:
  OutputFile() = default;
  std::filesystem::path partialPath() const;
  size_t bytesAroundCache(std::span<const std::byte> data) const;

  std::filesystem::path where;
  Descriptor descriptor;
  Descriptor direct; // not open when the file system always uses the cache
  int64_t offset = 0;
};

using reciperun::readTextFile;

/// Writes a whole file atomically.
Status writeTextFile(const std::filesystem::path& path, std::string_view text);

/// The paths of a folder's entries, sorted by name.
Expected<std::vector<std::filesystem::path>>
entriesOf(const std::filesystem::path& directory);

/// Flushes a folder's entries to the disk.
Status syncDirectory(const std::filesystem::path& directory);

/// The error "cannot VERB `path`: system's message" of a failed system call.
Status systemError(std::string_view verb, const std::filesystem::path& path,
                   int errorNumber);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FILES_H
