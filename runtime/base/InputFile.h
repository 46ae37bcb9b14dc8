// Opens files for reading. The runtime reads every file through this class.
//
// It reads pieces instead of mapping the file. A truncated file or a failing
// disk is then a Status and not a signal, and the pages of a large file do not
// count as memory of the process. Only regular files are accepted: a FIFO or a
// device could block the process forever.

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
  /// Fails without blocking when the path cannot be opened or is not a regular
  /// file.
  static Expected<InputFile> open(const std::filesystem::path& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::filesystem::path& path() const { return where; }
  /// The size in bytes when the file was opened.
  int64_t size() const { return bytes; }
  /// Fills `out` from `offset`. Fails with the offset and the cause when the
  /// file ends too early or the system cannot read it.
  Status read(int64_t offset, std::span<std::byte> out) const;

private:
  InputFile(std::filesystem::path path, int descriptor);

  std::filesystem::path where;
  int descriptor = -1;
  int64_t bytes = 0;
};

/// Reads a whole file. Fails when it is larger than `limit` bytes or memory is
/// insufficient.
Expected<std::string> readTextFile(const std::filesystem::path& path,
                                   int64_t limit = int64_t(256) << 20);

} // namespace reciperun

#endif // RECIPERUN_BASE_INPUTFILE_H
