// Reads a file line by line in pieces, so that memory holds the longest line,
// not the file.

#ifndef RECIPERUN_DATA_LINEREADER_H
#define RECIPERUN_DATA_LINEREADER_H

#include "runtime/base/InputFile.h"

#include <cstdint>
#include <string>

namespace reciperun::data {

class LineReader {
public:
  explicit LineReader(InputFile file) : file(std::move(file)) {}

  /// Reads the next line without its `\n`; false at the end of the file. Fails
  /// on a read error, and when the run is asked to stop.
  Expected<bool> next(std::string& line);

private:
  Status refill();

  InputFile file;
  int64_t offset = 0; // of the file's first byte after `piece`
  std::string piece;
  size_t at = 0; // of the next byte in `piece`
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_LINEREADER_H
