// The scalars of nested arrays in a request, stored more compactly than in a
// JSON document: a number takes 8 bytes.

#ifndef RECIPERUN_SERVER_KSERVE_JSONELEMENTS_H
#define RECIPERUN_SERVER_KSERVE_JSONELEMENTS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

/// How deep the arrays of elements may be nested.
inline constexpr size_t mostJsonDepth = 100;

class JsonElements {
public:
  enum class Kind : uint8_t {
    boolean,
    integer, // of int64_t
    natural, // above the greatest int64_t
    real,
    text,
    other // null or an object
  };
  static constexpr size_t none = std::numeric_limits<size_t>::max();

  void addBool(bool value) { add(Kind::boolean, value); }
  void addInteger(int64_t value) { add(Kind::integer, uint64_t(value)); }
  /// Adds a number that may exceed int64_t.
  void addUnsigned(uint64_t value) {
    add(value >> 63 == 0 ? Kind::integer : Kind::natural, value);
  }
  void addReal(double value);
  void addText(std::string_view text);
  void addOther() { add(Kind::other, 0); }
  /// Marks the elements from here on as nested too deeply.
  void markTooDeep();
  void setListSize(size_t size) { ownSize = size; }

  size_t size() const { return count; }
  /// The number of scalars and arrays directly in the outermost array.
  size_t listSize() const { return ownSize; }
  Kind kindAt(size_t i) const { return kinds.empty() ? kind : kinds[i]; }
  /// For an element that is no text and that no text precedes.
  int64_t integerAt(size_t i) const { return int64_t(bits[i]); }
  uint64_t unsignedAt(size_t i) const { return bits[i]; }
  double realAt(size_t i) const;
  bool boolAt(size_t i) const { return bits[i] != 0; }
  /// The texts as a tensor of BYTES holds them.
  const std::string& texts() const { return textBytes; }

  /// The index of the first element that is no text, and the number of elements
  /// before the first that is nested too deeply; `none` if there is none.
  size_t firstOtherThanText() const { return otherThanText; }
  size_t tooDeepAt() const { return tooDeep; }

private:
  // Inline, since they run for each number of a request.
  void add(Kind added, uint64_t value) {
    bits.push_back(value);
    otherThanText = otherThanText < count ? otherThanText : count;
    addKind(added);
  }
  void addKind(Kind added) {
    if (count == 0)
      kind = added;
    if (added != kind || !kinds.empty())
      addMixed(added);
    ++count;
  }
  void addMixed(Kind added);

  size_t count = 0;
  size_t ownSize = 0;
  Kind kind = Kind::other; // of all
  std::vector<Kind> kinds; // empty while all have `kind`
  std::vector<uint64_t> bits;
  std::string textBytes;
  size_t otherThanText = none;
  size_t tooDeep = none;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_JSONELEMENTS_H
