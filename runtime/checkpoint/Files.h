// Files as checkpoints need them: written aside and put in place whole. An
// OutputFile appears under its name only when everything has reached the disk.

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

/// An open file descriptor, closed at the end of its life.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return number; }
  bool isOpen() const { return number >= 0; }
  /// Closes now; false when the system reports a failed write.
  bool close();

private:
  int number = -1;
};

/// A file that is written from front to back. It grows as `PATH.partial` and
/// gets its name by `commit`; without it, it is removed.
///
/// Whole units of memory at a multiple of `unitBytes` that come to lie at one
/// in the file go to the disk around the system's cache where the file system
/// can (O_DIRECT of open(2)): filling the cache with a checkpoint takes time
/// from the cores that train.
class OutputFile {
public:
  /// What devices and file systems ask of memory and offsets, or a multiple.
  static constexpr size_t unitBytes = 4096;

  static Expected<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::filesystem::path& path() const { return where; }
  Status append(std::span<const std::byte> data);
  /// Replaces bytes that have been appended.
  Status rewrite(int64_t at, std::span<const std::byte> data);
  /// Brings the data to the disk (fsync), then puts the file in place.
  Status commit();

private:
  OutputFile() = default;
  std::filesystem::path partialPath() const;
  size_t bytesAroundCache(std::span<const std::byte> data) const;

  std::filesystem::path where;
  Descriptor descriptor;
  Descriptor direct; // not open where the file system always uses the cache
  int64_t offset = 0;
};

using reciperun::readTextFile;

/// Writes a whole file aside and puts it in place.
Status writeTextFile(const std::filesystem::path& path, std::string_view text);

/// The paths of what is in a folder, in the order of their names.
Expected<std::vector<std::filesystem::path>>
entriesOf(const std::filesystem::path& directory);

/// Brings a folder's entries to the disk.
Status syncDirectory(const std::filesystem::path& directory);

/// "cannot VERB `path`: what the system said", for a failed system call.
Status systemError(std::string_view verb, const std::filesystem::path& path,
                   int errorNumber);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FILES_H
