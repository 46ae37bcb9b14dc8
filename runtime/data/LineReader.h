// The lines of a file, read in pieces, so that memory holds the longest line
// rather than the file.

#ifndef RECIPERUN_DATA_LINEREADER_H
#define RECIPERUN_DATA_LINEREADER_H

#include "runtime/base/InputFile.h"

#include <cstdint>
#include <string>

namespace reciperun::data {

class LineReader {
public:
  explicit LineReader(InputFile file) : file(std::move(file)) {}

  /// The next line without its `\n`; false at the end of the file. Fails where
  /// the file cannot be read to its end, and once the run is to stop.
  Expected<bool> next(std::string& line);

private:
  Status refill();

  InputFile file;
  int64_t offset = 0; // of the file's byte behind `piece`
  std::string piece;
  size_t at = 0; // of the next byte in `piece`
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_LINEREADER_H
