// Shell commands that convert a data file, for help messages.

#ifndef RECIPERUN_DATA_CONVERSION_H
#define RECIPERUN_DATA_CONVERSION_H

#include <string>
#include <string_view>

namespace reciperun::data {

/// Help with a command that converts the file at `path` to JSON lines:
/// "`COMMAND FILE > NEW`, and name the new file". NEW is an unused name next to
/// that file.
std::string linesBy(const std::string& command, const std::string& path);

/// Help on converting a file of another format, such as `gzip`, `Parquet` or
/// `CSV`, to JSON lines. Empty for other formats.
std::string linesOfFormat(const std::string& path, std::string_view format);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_CONVERSION_H
