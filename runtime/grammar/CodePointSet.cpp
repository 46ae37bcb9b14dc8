// Splits a range into parts whose UTF-8 forms are products of byte ranges: at
// the changes of length, then wherever the trailing bytes do not cover all of
// their values.

#include "runtime/grammar/CodePointSet.h"

#include <algorithm>
#include <array>

namespace reciperun::grammar {
namespace {

constexpr uint32_t lastCodePoint = 0x10FFFF;
constexpr uint32_t firstSurrogate = 0xD800;
constexpr uint32_t lastSurrogate = 0xDFFF;

/// The bytes that UTF-8 takes for a code point, less one, and the last code
/// point of each length.
constexpr std::array<uint32_t, 4> lastOfLength = {0x7F, 0x7FF, 0xFFFF,
                                                  lastCodePoint};

void appendBytes(uint32_t low, uint32_t high,
                 std::vector<std::vector<ByteRange>>& out) {
  std::string first, last;
  appendUtf8(first, low);
  appendUtf8(last, high);
  std::vector<ByteRange>& sequence = out.emplace_back();
  for (size_t i = 0; i < first.size(); ++i)
    sequence.push_back(
        {static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i])});
}

/// Splits a range of code points of equal UTF-8 length.
void splitRange(uint32_t low, uint32_t high, int trailing,
                std::vector<std::vector<ByteRange>>& out) {
  for (int i = 1; i <= trailing; ++i) {
    const uint32_t rest = (uint32_t(1) << (6 * i)) - 1;
    if ((low & ~rest) == (high & ~rest))
      continue;
    if ((low & rest) != 0) {
      splitRange(low, low | rest, trailing, out);
      splitRange((low | rest) + 1, high, trailing, out);
      return;
    }
    if ((high & rest) != rest) {
      splitRange(low, (high & ~rest) - 1, trailing, out);
      splitRange(high & ~rest, high, trailing, out);
      return;
    }
  }
  appendBytes(low, high, out);
}

} // namespace

CodePointSet::CodePointSet(std::vector<CodePointRange> ranges) {
  std::vector<CodePointRange> parts;
  for (const CodePointRange& each : ranges) {
    const uint32_t high = std::min(each.high, lastCodePoint);
    if (each.low < firstSurrogate && each.low <= high)
      parts.push_back({each.low, std::min(high, firstSurrogate - 1)});
    if (high > lastSurrogate && each.low <= high)
      parts.push_back({std::max(each.low, lastSurrogate + 1), high});
  }
  std::sort(parts.begin(), parts.end(),
            [](const CodePointRange& a, const CodePointRange& b) {
              return a.low < b.low;
            });
  for (const CodePointRange& each : parts) {
    if (!members.empty() && each.low <= members.back().high + 1)
      members.back().high = std::max(members.back().high, each.high);
    else
      members.push_back(each);
  }
}

CodePointSet CodePointSet::of(uint32_t codePoint) {
  return CodePointSet({{codePoint, codePoint}});
}

CodePointSet CodePointSet::all() {
  return CodePointSet({{0, lastCodePoint}});
}

bool CodePointSet::contains(uint32_t codePoint) const {
  return std::any_of(members.begin(), members.end(),
                     [&](const CodePointRange& each) {
                       return each.low <= codePoint && codePoint <= each.high;
                     });
}

CodePointSet CodePointSet::complement() const {
  std::vector<CodePointRange> gaps;
  uint32_t next = 0;
  for (const CodePointRange& each : members) {
    if (each.low > next)
      gaps.push_back({next, each.low - 1});
    next = each.high + 1;
  }
  if (next <= lastCodePoint)
    gaps.push_back({next, lastCodePoint});
  return CodePointSet(std::move(gaps));
}

CodePointSet CodePointSet::unionWith(const CodePointSet& other) const {
  std::vector<CodePointRange> both = members;
  both.insert(both.end(), other.members.begin(), other.members.end());
  return CodePointSet(std::move(both));
}

CodePointSet CodePointSet::intersectionWith(const CodePointSet& other) const {
  return complement().unionWith(other.complement()).complement();
}

std::vector<std::vector<ByteRange>> CodePointSet::utf8() const {
  std::vector<std::vector<ByteRange>> sequences;
  for (const CodePointRange& each : members) {
    uint32_t low = each.low;
    for (size_t trailing = 0; trailing < lastOfLength.size(); ++trailing) {
      const uint32_t high = std::min(each.high, lastOfLength[trailing]);
      if (low > high)
        continue;
      splitRange(low, high, static_cast<int>(trailing), sequences);
      low = high + 1;
    }
  }
  return sequences;
}

void appendUtf8(std::string& text, uint32_t codePoint) {
  auto trailing = [&](int shift) {
    text += static_cast<char>(0x80 | (codePoint >> shift & 0x3F));
  };
  if (codePoint <= lastOfLength[0]) {
    text += static_cast<char>(codePoint);
  } else if (codePoint <= lastOfLength[1]) {
    text += static_cast<char>(0xC0 | codePoint >> 6);
    trailing(0);
  } else if (codePoint <= lastOfLength[2]) {
    text += static_cast<char>(0xE0 | codePoint >> 12);
    trailing(6);
    trailing(0);
  } else {
    text += static_cast<char>(0xF0 | codePoint >> 18);
    trailing(12);
    trailing(6);
    trailing(0);
  }
}

bool takeUtf8(std::string_view text, size_t& at, uint32_t& codePoint) {
  if (at >= text.size())
    return false;
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  size_t length = lead < 0x80                    ? 1
                  : lead >= 0xC2 && lead <= 0xDF ? 2
                  : lead >= 0xE0 && lead <= 0xEF ? 3
                  : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                 : 0;
  if (length == 0 || text.size() - at < length)
    return false;
  uint32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80)
      return false;
    value = value << 6 | (byte(at + i) & 0x3Fu);
  }
  const bool isOverlong = length > 1 && value <= lastOfLength[length - 2];
  const bool isSurrogate = value >= firstSurrogate && value <= lastSurrogate;
  if (isOverlong || isSurrogate || value > lastCodePoint)
    return false;
  at += length;
  codePoint = value;
  return true;
}

} // namespace reciperun::grammar
