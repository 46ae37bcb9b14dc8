// Hashes of stored bytes: XXH3 (Yann Collet, xxHash specification 0.2), which
// runs at the speed of memory.
//
// They find damage and tell contents apart; they withstand no one who looks for
// two texts of one hash. Their values are written to files and stay the same
// on every machine.

#ifndef RECIPERUN_BASE_HASH_H
#define RECIPERUN_BASE_HASH_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reciperun {

/// 128 bits, which tell any two contents apart.
struct Hash {
  uint64_t high = 0;
  uint64_t low = 0;

  bool operator==(const Hash&) const = default;
  /// 32 lower-case hexadecimal digits, the highest first.
  std::string text() const;
};

Hash hashOf(std::span<const std::byte> bytes);
Hash hashOf(std::string_view text);

/// The hash of bytes that come piece by piece: that of all of them together.
class Hasher {
public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  /// Of what has been added so far; more may follow.
  Hash hash() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// 64 bits, which find damage of a piece of a file.
uint64_t checksumOf(std::span<const std::byte> bytes);

/// `number` as 16 lower-case hexadecimal digits; and back, nothing for any
/// other text.
std::string hexText(uint64_t number);
std::optional<uint64_t> parseHex(std::string_view text);

} // namespace reciperun

#endif // RECIPERUN_BASE_HASH_H
