// A file of which pieces are read where they are needed.
//
// Pieces are read rather than mapped: a file that ends early or a disk that
// fails is then a Status and not a signal, and the pages of a large data set do
// not count as memory of the process.

#ifndef RECIPERUN_DATA_INPUTFILE_H
#define RECIPERUN_DATA_INPUTFILE_H

#include "runtime/plan/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace reciperun::data {

class InputFile {
public:
  static Expected<InputFile> open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return ownPath; }
  /// Bytes that the file had when it was opened.
  int64_t size() const { return bytes; }
  /// Fails where the file has ended before `out` is full.
  Status read(int64_t offset, std::span<std::byte> out) const;

private:
  InputFile(std::string path, int descriptor, int64_t bytes);

  std::string ownPath;
  int descriptor = -1;
  int64_t bytes = 0;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_INPUTFILE_H
