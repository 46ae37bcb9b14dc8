// Operations on UTF-8 strings with the meaning of Python's methods of `str`.
// Each takes time in proportion to the bytes that it is given and returns.

#ifndef RECIPERUN_JINJA_STRINGS_H
#define RECIPERUN_JINJA_STRINGS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::jinja {

class Budget;

/// What `strip` and `split` without an argument remove.
inline constexpr std::string_view whiteSpace = " \t\n\r\f\v";

/// Removes the first code point of a text that is not empty and returns its
/// bytes. A byte that starts none is one itself.
std::string_view takePoint(std::string_view& text);
size_t countPoints(std::string_view text);

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

/// The position of the first or last occurrence, in bytes; `npos` when there is
/// none.
size_t firstPosition(std::string_view text, std::string_view wanted);
size_t lastPosition(std::string_view text, std::string_view wanted);
/// The occurrences from the left that do not overlap. `wanted` is not empty.
size_t countOccurrences(std::string_view text, std::string_view wanted);

/// Replaces at most `count` occurrences from the left; all when negative.
std::string replace(std::string_view text, std::string_view from,
                    std::string_view to, int64_t count = -1);
/// The bytes of the result of `replace`.
size_t replacedSize(std::string_view text, std::string_view from,
                    std::string_view to, int64_t count);

using Parts = std::vector<std::string_view>;
/// Splits at white space, or at a separator that is not empty; at most `count`
/// times when that is not negative. Each part takes the bytes of a value from
/// the budget.
Expected<Parts> splitAtSpaces(std::string_view text, int64_t count,
                              Budget& budget);
Expected<Parts> split(std::string_view text, std::string_view separator,
                      int64_t count, Budget& budget);
/// Like `split`, but counts from the right.
Expected<Parts> splitFromRight(std::string_view text,
                               std::string_view separator, int64_t count,
                               Budget& budget);
Expected<Parts> splitLines(std::string_view text, Budget& budget);

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_STRINGS_H
