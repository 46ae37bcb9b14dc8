// Python's methods of `str`, on UTF-8.

#include "runtime/jinja/Strings.h"

#include "runtime/jinja/Budget.h"
#include "runtime/jinja/Value.h"

#include <algorithm>
#include <clocale>
#include <cstring>
#include <cwctype>
#include <locale.h>
#include <set>

namespace reciperun::jinja {
namespace {

/// The length of the code point that a byte starts.
size_t sizeOfPoint(unsigned char first) {
  if (first < 0xC0)
    return 1;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

uint32_t decode(std::string_view point) {
  const auto first = static_cast<unsigned char>(point[0]);
  if (point.size() == 1)
    return first;
  uint32_t value = first & (0xFFu >> (point.size() + 1));
  for (const char c : point.substr(1))
    value = value << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return value;
}

/// Unicode's tables, independent of the process's locale. Null where the
/// system has none; then only ASCII has cases.
locale_t unicode() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

std::string mapped(std::string_view point, bool isUpper) {
  const uint32_t from = decode(point);
  if (from < 0x80) {
    const bool isLetter =
        isUpper ? from >= 'a' && from <= 'z' : from >= 'A' && from <= 'Z';
    return std::string(1, char(isLetter ? from ^ 0x20u : from));
  }
  if (!unicode())
    return std::string(point);
  return encodeUtf8(uint32_t(isUpper ? towupper_l(wint_t(from), unicode())
                                     : towlower_l(wint_t(from), unicode())));
}

std::string mappedAll(std::string_view text, bool isUpper) {
  std::string result;
  while (!text.empty())
    result += mapped(takePoint(text), isUpper);
  return result;
}

/// Removes the last code point of a text that is not empty and returns it.
std::string_view takeLastPoint(std::string_view& text) {
  size_t size = 1;
  auto continues = [&] {
    return (static_cast<unsigned char>(text[text.size() - size]) & 0xC0) ==
           0x80;
  };
  while (size < std::min<size_t>(4, text.size()) && continues())
    ++size;
  const auto first = static_cast<unsigned char>(text[text.size() - size]);
  if (sizeOfPoint(first) != size)
    size = 1;
  const std::string_view point = text.substr(text.size() - size);
  text.remove_suffix(size);
  return point;
}

std::string reversed(std::string_view text) {
  return {text.rbegin(), text.rend()};
}

Status addPart(Parts& parts, std::string_view part, Budget& budget) {
  RECIPERUN_TRY(budget.takeBytes(sizeof(Value)));
  parts.push_back(part);
  return {};
}

} // namespace

std::string encodeUtf8(uint32_t point) {
  if (point < 0x80)
    return std::string(1, char(point));
  int tail = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  // The first byte has as many leading ones as there are bytes.
  std::string text(1,
                   char((0xFF00u >> (tail + 1) & 0xFFu) | point >> (6 * tail)));
  while (tail-- > 0)
    text += char(0x80 | (point >> (6 * tail) & 0x3F));
  return text;
}

std::string_view takePoint(std::string_view& text) {
  const size_t size =
      std::min(sizeOfPoint(static_cast<unsigned char>(text[0])), text.size());
  const std::string_view point = text.substr(0, size);
  text.remove_prefix(size);
  return point;
}

size_t countPoints(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count)
    takePoint(text);
  return count;
}

std::string toUpper(std::string_view text) {
  return mappedAll(text, true);
}

std::string toLower(std::string_view text) {
  return mappedAll(text, false);
}

std::string capitalize(std::string_view text) {
  std::string result;
  while (!text.empty())
    result += mapped(takePoint(text), result.empty());
  return result;
}

std::string toTitle(std::string_view text) {
  constexpr std::string_view separators = "-({[< \t\n\r\f\v";
  std::string result;
  bool startsWord = true;
  while (!text.empty()) {
    const std::string_view point = takePoint(text);
    result += mapped(point, startsWord);
    startsWord = separators.find(point) != separators.npos;
  }
  return result;
}

std::string_view strip(std::string_view text, std::string_view removed,
                       Side side) {
  std::set<std::string_view> points;
  while (!removed.empty())
    points.insert(takePoint(removed));
  std::string_view rest = text;
  if (side != Side::right)
    while (!rest.empty() && points.contains(takePoint(rest)))
      text = rest;
  rest = text;
  if (side != Side::left)
    while (!rest.empty() && points.contains(takeLastPoint(rest)))
      text = rest;
  return text;
}

// `std::string_view::find` takes the product of the two lengths.
size_t firstPosition(std::string_view text, std::string_view wanted) {
  if (wanted.empty() || wanted.size() > text.size())
    return wanted.empty() ? 0 : text.npos;
  const void* found =
      memmem(text.data(), text.size(), wanted.data(), wanted.size());
  return found ? size_t(static_cast<const char*>(found) - text.data())
               : text.npos;
}

size_t lastPosition(std::string_view text, std::string_view wanted) {
  const size_t fromEnd = firstPosition(reversed(text), reversed(wanted));
  return fromEnd == text.npos ? text.npos
                              : text.size() - wanted.size() - fromEnd;
}

size_t countOccurrences(std::string_view text, std::string_view wanted) {
  size_t count = 0;
  for (size_t at = firstPosition(text, wanted); at != text.npos;
       at = firstPosition(text, wanted)) {
    text.remove_prefix(at + wanted.size());
    ++count;
  }
  return count;
}

std::string replace(std::string_view text, std::string_view from,
                    std::string_view to, int64_t count) {
  std::string result;
  if (from.empty()) { // between all code points and at both ends
    for (; !text.empty() && count != 0; count -= count > 0)
      result.append(to).append(takePoint(text));
    return result.append(count != 0 ? to : text);
  }
  for (; count != 0; count -= count > 0) {
    const size_t at = firstPosition(text, from);
    if (at == text.npos)
      break;
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

size_t replacedSize(std::string_view text, std::string_view from,
                    std::string_view to, int64_t count) {
  size_t replaced =
      from.empty() ? countPoints(text) + 1 : countOccurrences(text, from);
  if (count >= 0)
    replaced = std::min(replaced, size_t(count));
  return text.size() - replaced * from.size() + replaced * to.size();
}

Expected<Parts> splitAtSpaces(std::string_view text, int64_t count,
                              Budget& budget) {
  auto skipSpaces = [&] {
    text.remove_prefix(
        std::min(text.find_first_not_of(whiteSpace), text.size()));
  };
  Parts parts;
  for (skipSpaces(); !text.empty(); skipSpaces()) {
    const size_t end =
        count == 0 ? text.size() : text.find_first_of(whiteSpace);
    RECIPERUN_TRY(addPart(parts, text.substr(0, end), budget));
    text.remove_prefix(std::min(end, text.size()));
    count -= count > 0;
  }
  return parts;
}

Expected<Parts> split(std::string_view text, std::string_view separator,
                      int64_t count, Budget& budget) {
  Parts parts;
  for (; count != 0; count -= count > 0) {
    const size_t at = firstPosition(text, separator);
    if (at == text.npos)
      break;
    RECIPERUN_TRY(addPart(parts, text.substr(0, at), budget));
    text.remove_prefix(at + separator.size());
  }
  RECIPERUN_TRY(addPart(parts, text, budget));
  return parts;
}

Expected<Parts> splitFromRight(std::string_view text,
                               std::string_view separator, int64_t count,
                               Budget& budget) {
  const std::string mirror = reversed(text);
  Expected<Parts> parts = split(mirror, reversed(separator), count, budget);
  RECIPERUN_TRY(parts);
  for (std::string_view& part : *parts) {
    const size_t fromEnd = size_t(part.data() - mirror.data());
    part = text.substr(text.size() - fromEnd - part.size(), part.size());
  }
  std::reverse(parts->begin(), parts->end());
  return parts;
}

Expected<Parts> splitLines(std::string_view text, Budget& budget) {
  Parts parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    RECIPERUN_TRY(addPart(parts, text.substr(0, end), budget));
    text.remove_prefix(end);
    if (text.starts_with("\r\n"))
      text.remove_prefix(2);
    else if (!text.empty())
      text.remove_prefix(1);
  }
  return parts;
}

} // namespace reciperun::jinja
