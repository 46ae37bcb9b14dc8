// Texts in another encoding than UTF-8: what is wrong, and how to convert them.

#ifndef RECIPERUN_DATA_ENCODING_H
#define RECIPERUN_DATA_ENCODING_H

#include <string>
#include <string_view>

namespace reciperun::data {

/// A byte as `0xFC`.
std::string hexadecimal(char byte);

/// A help with the command that writes a file in UTF-8 beside the file at
/// `path`, under a name that is free: from UTF-16 where `head`, its beginning,
/// has the byte order mark of that, else from Latin-1.
std::string conversionToUtf8(const std::string& path, std::string_view head);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ENCODING_H
