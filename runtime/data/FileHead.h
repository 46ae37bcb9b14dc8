// What the first bytes of a data file say about it: whether it is text, or a
// file of another kind that a recipe names by mistake.

#ifndef RECIPERUN_DATA_FILEHEAD_H
#define RECIPERUN_DATA_FILEHEAD_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace reciperun::data {

/// Why a path leads to no regular file with contents: `No such file or
/// directory`, `Permission denied`, `it is empty`; nothing where it does.
std::string whyNoFile(const std::string& path);
/// The same of a folder that can be listed.
std::string whyNoFolder(const std::string& path);

/// The first bytes of a file, at most so many.
Expected<std::string> readHead(const std::string& path, size_t bytes);

/// The kind of file that begins so and holds neither text nor ids: `gzip`,
/// `Parquet`; empty for none that is known.
std::string_view otherFormat(std::string_view head);

/// Whether a head, cut anywhere, is well-formed UTF-8 without control
/// characters: in so many bytes no accident. False below 16 bytes.
bool isText(std::string_view head);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_FILEHEAD_H
