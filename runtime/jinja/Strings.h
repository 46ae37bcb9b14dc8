// Operations on UTF-8 strings with the meaning of Python's methods of `str`.
// Positions and lengths are in code points.

#ifndef RECIPERUN_JINJA_STRINGS_H
#define RECIPERUN_JINJA_STRINGS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::jinja {

/// What `strip` and `split` without an argument remove.
inline constexpr std::string_view whiteSpace = " \t\n\r\f\v";

/// The code points, each as its bytes. A byte that starts none is one itself.
std::vector<std::string_view> codePoints(std::string_view text);

std::string encodeUtf8(uint32_t point);

/// Maps each code point by the Unicode tables of the C library; those that
/// become several code points (`ß`) stay.
std::string toUpper(std::string_view text);
std::string toLower(std::string_view text);
/// The first letter in upper case, the others in lower case.
std::string capitalize(std::string_view text);
/// `capitalize` of each word; `-`, brackets and white space separate words.
std::string toTitle(std::string_view text);

enum class Side { left = 1, right = 2, both = 3 };
/// Removes code points that are in `removed` from the ends.
std::string_view strip(std::string_view text, std::string_view removed,
                       Side side = Side::both);

/// Replaces at most `count` occurrences from the left; all when negative.
std::string replace(std::string_view text, std::string_view from,
                    std::string_view to, int64_t count = -1);

/// Splits at white space, or at a separator that is not empty; at most `count`
/// times when that is not negative.
std::vector<std::string_view> splitAtSpaces(std::string_view text,
                                            int64_t count = -1);
std::vector<std::string_view>
split(std::string_view text, std::string_view separator, int64_t count = -1);
/// Like `split`, but counts from the right.
std::vector<std::string_view> splitFromRight(std::string_view text,
                                             std::string_view separator,
                                             int64_t count = -1);
std::vector<std::string_view> splitLines(std::string_view text);

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_STRINGS_H
