// Numbers as text.

#ifndef RECIPERUN_BASE_TEXT_H
#define RECIPERUN_BASE_TEXT_H

#include <cstdint>
#include <string>

namespace reciperun {

/// The text that printf writes, up to 511 characters.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

/// `1.5 GiB`, `312.0 MiB`, `17 B`.
std::string bytesText(int64_t bytes);

} // namespace reciperun

#endif // RECIPERUN_BASE_TEXT_H
