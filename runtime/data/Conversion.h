// Commands that convert a file of data, as helps write them.

#ifndef RECIPERUN_DATA_CONVERSION_H
#define RECIPERUN_DATA_CONVERSION_H

#include <string>
#include <string_view>

namespace reciperun::data {

/// Quotes a path for a shell command.
std::string shellWord(const std::string& path);

/// "`COMMAND FILE > NEW`, and name the new file": NEW takes lines of JSON
/// beside the file at `path`, under a name that is free.
std::string linesBy(const std::string& command, const std::string& path);

/// How to write lines of JSON with the rows of a file in another format, such
/// as `gzip`, `Parquet` or `CSV`. Empty for a format that holds no rows.
std::string linesOfFormat(const std::string& path, std::string_view format);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_CONVERSION_H
