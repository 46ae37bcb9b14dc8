// Python's methods of `str`, on UTF-8.

#include "runtime/jinja/Strings.h"

#include <algorithm>
#include <clocale>
#include <cwctype>
#include <locale.h>

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
  for (const std::string_view point : codePoints(text))
    result += mapped(point, isUpper);
  return result;
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

std::vector<std::string_view> codePoints(std::string_view text) {
  std::vector<std::string_view> points;
  while (!text.empty()) {
    const size_t size =
        std::min(sizeOfPoint(static_cast<unsigned char>(text[0])), text.size());
    points.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return points;
}

std::string toUpper(std::string_view text) {
  return mappedAll(text, true);
}

std::string toLower(std::string_view text) {
  return mappedAll(text, false);
}

std::string capitalize(std::string_view text) {
  std::string result;
  for (const std::string_view point : codePoints(text))
    result += mapped(point, result.empty());
  return result;
}

std::string toTitle(std::string_view text) {
  constexpr std::string_view separators = "-({[< \t\n\r\f\v";
  std::string result;
  bool startsWord = true;
  for (const std::string_view point : codePoints(text)) {
    result += mapped(point, startsWord);
    startsWord = separators.find(point) != separators.npos;
  }
  return result;
}

std::string_view strip(std::string_view text, std::string_view removed,
                       Side side) {
  const std::vector<std::string_view> set = codePoints(removed);
  auto isRemoved = [&](std::string_view point) {
    return std::find(set.begin(), set.end(), point) != set.end();
  };
  const std::vector<std::string_view> points = codePoints(text);
  size_t first = 0, last = points.size();
  if (side != Side::right)
    while (first < last && isRemoved(points[first]))
      text.remove_prefix(points[first++].size());
  if (side != Side::left)
    while (last > first && isRemoved(points[last - 1]))
      text.remove_suffix(points[--last].size());
  return text;
}

std::string replace(std::string_view text, std::string_view from,
                    std::string_view to, int64_t count) {
  std::string result;
  if (from.empty()) { // between all code points and at both ends
    for (const std::string_view point : codePoints(text)) {
      if (count != 0) {
        result += to;
        --count;
      }
      result += point;
    }
    return count != 0 ? result.append(to) : result;
  }
  for (; count != 0; --count) {
    const size_t at = text.find(from);
    if (at == text.npos)
      break;
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

std::vector<std::string_view> splitAtSpaces(std::string_view text,
                                            int64_t count) {
  std::vector<std::string_view> parts;
  while (true) {
    text = strip(text, whiteSpace, Side::left);
    if (text.empty())
      return parts;
    if (count-- == 0) {
      parts.push_back(strip(text, whiteSpace, Side::right));
      return parts;
    }
    const size_t size = std::min(text.find_first_of(whiteSpace), text.size());
    parts.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

std::vector<std::string_view> split(std::string_view text,
                                    std::string_view separator, int64_t count) {
  std::vector<std::string_view> parts;
  for (; count != 0; --count) {
    const size_t at = text.find(separator);
    if (at == text.npos)
      break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> splitFromRight(std::string_view text,
                                             std::string_view separator,
                                             int64_t count) {
  std::vector<std::string_view> parts;
  for (; count != 0; --count) {
    const size_t at = text.rfind(separator);
    if (at == text.npos)
      break;
    parts.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with("\r\n"))
      text.remove_prefix(2);
    else if (!text.empty())
      text.remove_prefix(1);
  }
  return lines;
}

} // namespace reciperun::jinja
