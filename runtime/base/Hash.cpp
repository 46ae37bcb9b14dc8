// XXH3 from libxxhash's header, compiled into this file. The library's object
// code targets the x86-64 baseline and takes three times as long.

#include "runtime/base/Hash.h"

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
// GCC 12 reports the undefined registers of its own intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <xxhash.h>
#pragma GCC diagnostic pop

#include <charconv>

namespace reciperun {

struct Hasher::State {
  XXH3_state_t xxh3; // aligned to 64 bytes
};

std::string hexText(uint64_t number) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = text.size(); i-- > 0; number >>= 4)
    text[i] = digits[number & 15];
  return text;
}

std::optional<uint64_t> parseHex(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data(), end, number, 16);
  const bool isWhole = text.size() == 16 && error == std::errc() && last == end;
  return isWhole && hexText(number) == text ? std::optional(number)
                                            : std::nullopt;
}

std::string Hash::text() const {
  return hexText(high) + hexText(low);
}

uint64_t checksumOf(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hash hashOf(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

Hash hashOf(std::string_view text) {
  return hashOf(std::as_bytes(std::span(text)));
}

Hasher::Hasher() : state(std::make_unique<State>()) {
  XXH3_128bits_reset(&state->xxh3);
}

Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  if (!bytes.empty())
    XXH3_128bits_update(&state->xxh3, bytes.data(), bytes.size());
}

void Hasher::add(std::string_view text) {
  add(std::as_bytes(std::span(text)));
}

Hash Hasher::hash() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state->xxh3);
  return {hash.high64, hash.low64};
}

} // namespace reciperun
