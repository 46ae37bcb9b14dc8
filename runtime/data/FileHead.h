// Detects a data file's format by its first bytes: text, or a file of another
// kind that a recipe names by mistake.

#ifndef RECIPERUN_DATA_FILEHEAD_H
#define RECIPERUN_DATA_FILEHEAD_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace reciperun::data {

/// The reason why a path is not a regular file with contents: `No such file or
/// directory`, `Permission denied`, `it is empty`. Empty when it is one.
std::string whyNoFile(const std::string& path);
/// The reason why a path is not a folder that can be listed; empty when it is
/// one.
std::string whyNoFolder(const std::string& path);

/// Reads the first `bytes` bytes of a file, or all of a shorter one.
Expected<std::string> readHead(const std::string& path, size_t bytes);

/// The format of a file that is neither text nor ids: `gzip`, `Parquet`. Empty
/// when the head matches no known format.
std::string_view otherFormat(std::string_view head);

/// Whether a head, truncated anywhere, is well-formed UTF-8 without control
/// characters and too long to be so by chance. False below 16 bytes.
bool isText(std::string_view head);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_FILEHEAD_H
