// A set of Unicode scalar values, and its UTF-8 form as sequences of byte
// ranges.

#ifndef RECIPERUN_GRAMMAR_CODEPOINTSET_H
#define RECIPERUN_GRAMMAR_CODEPOINTSET_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::grammar {

/// An inclusive range of code points.
struct CodePointRange {
  uint32_t low = 0;
  uint32_t high = 0;
  bool operator==(const CodePointRange&) const = default;
};

/// An inclusive range of bytes.
struct ByteRange {
  uint8_t low = 0;
  uint8_t high = 0;
  bool operator==(const ByteRange&) const = default;
};

/// Surrogates are never members.
class CodePointSet {
public:
  CodePointSet() = default;
  explicit CodePointSet(std::vector<CodePointRange> ranges);
  /// The set of one code point.
  static CodePointSet of(uint32_t codePoint);
  /// All scalar values.
  static CodePointSet all();

  /// Sorted, disjoint and not adjacent.
  const std::vector<CodePointRange>& ranges() const { return members; }
  bool isEmpty() const { return members.empty(); }
  bool contains(uint32_t codePoint) const;
  CodePointSet complement() const;
  CodePointSet unionWith(const CodePointSet& other) const;
  CodePointSet intersectionWith(const CodePointSet& other) const;

  /// The UTF-8 forms of the members: each sequence stands for the texts with
  /// one byte from each of its ranges.
  std::vector<std::vector<ByteRange>> utf8() const;

private:
  std::vector<CodePointRange> members;
};

/// Appends the UTF-8 form of a scalar value.
void appendUtf8(std::string& text, uint32_t codePoint);

/// Takes the code point at `at` and advances past it. False, with `at`
/// unchanged, when the bytes there are not well-formed UTF-8.
bool takeUtf8(std::string_view text, size_t& at, uint32_t& codePoint);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_CODEPOINTSET_H
