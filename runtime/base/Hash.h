// Hashes of stored bytes: XXH3 (Yann Collet, xxHash specification 0.2), which
// runs at memory bandwidth.
//
// The hashes detect damage and tell contents apart. They are not cryptographic:
// an attacker can find two texts with the same hash. Their values are written
// to files and are the same on every machine.

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

/// A 128-bit hash, which distinguishes any two contents in practice.
struct Hash {
  uint64_t high = 0;
  uint64_t low = 0;

  bool operator==(const Hash&) const = default;
  /// 32 lower-case hexadecimal digits, the highest first.
  std::string text() const;
};

Hash hashOf(std::span<const std::byte> bytes);
Hash hashOf(std::string_view text);

/// Hashes bytes piece by piece. The result equals the hash of all of them at
/// once.
class Hasher {
public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  /// The hash of the bytes added so far; more may be added afterwards.
  Hash hash() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// A 64-bit checksum, which detects damage in a piece of a file.
uint64_t checksumOf(std::span<const std::byte> bytes);

/// `hexText` writes a number as 16 lower-case hexadecimal digits. `parseHex`
/// reads them back; nullopt for any other text.
std::string hexText(uint64_t number);
std::optional<uint64_t> parseHex(std::string_view text);

} // namespace reciperun

#endif // RECIPERUN_BASE_HASH_H
