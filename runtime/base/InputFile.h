// The one way in which the runtime opens a file to read it.
//
// Pieces are read rather than mapped: a file that ends early or a disk that
// fails is then a Status and not a signal, and the pages of a large file do not
// count as memory of the process. Regular files only: a FIFO or a device could
// keep a process waiting for ever.

#ifndef RECIPERUN_BASE_INPUTFILE_H
#define RECIPERUN_BASE_INPUTFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace reciperun {

class InputFile {
public:
  /// Fails, without waiting, where the path cannot be opened or leads to
  /// anything but a regular file.
  static Expected<InputFile> open(const std::filesystem::path& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::filesystem::path& path() const { return where; }
  /// Bytes that the file had when it was opened.
  int64_t size() const { return bytes; }
  /// Fills `out` from `offset`. Fails where the file ends before, or the system
  /// cannot read it, with the place and the cause.
  Status read(int64_t offset, std::span<std::byte> out) const;

private:
  InputFile(std::filesystem::path path, int descriptor);

  std::filesystem::path where;
  int descriptor = -1;
  int64_t bytes = 0;
};

/// The whole of a file; fails above `limit` bytes, and where memory does not
/// suffice.
Expected<std::string> readTextFile(const std::filesystem::path& path,
                                   int64_t limit = int64_t(256) << 20);

} // namespace reciperun

#endif // RECIPERUN_BASE_INPUTFILE_H
