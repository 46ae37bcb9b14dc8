// Texts in another encoding than UTF-8: what is wrong, and how to convert them.

#ifndef RECIPERUN_DATA_ENCODING_H
#define RECIPERUN_DATA_ENCODING_H

#include <string>
#include <string_view>

namespace reciperun::data {

/// A byte as `0xFC`.
std::string hexadecimal(char byte);

/// Help with the command that converts the file at `path` to UTF-8, under an
/// unused name next to it. Assumes UTF-16 if `head`, the file's beginning, has
/// its byte order mark, and Latin-1 otherwise.
std::string conversionToUtf8(const std::string& path, std::string_view head);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ENCODING_H
