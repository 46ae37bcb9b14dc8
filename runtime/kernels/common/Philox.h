// Philox4x32-10: random numbers as a function of a counter and a key.
//
// J. Salmon, M. Moraes, R. Dror, D. Shaw: "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). The counter is an element's index in the model. Any rank
// can compute it without the others, so every layout draws the same numbers.

#ifndef RECIPERUN_KERNELS_COMMON_PHILOX_H
#define RECIPERUN_KERNELS_COMMON_PHILOX_H

#include <array>
#include <cstdint>
#include <string_view>

namespace reciperun::kernels {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Ten rounds of Philox4x32 (section 3.3 of the paper): four words of 32
/// random bits.
constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t(0xD2511F53u) * counter[0];
    const uint64_t odd = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(odd >> 32) ^ counter[1] ^ key[0], uint32_t(odd),
               uint32_t(even >> 32) ^ counter[3] ^ key[1], uint32_t(even)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose
/// every output bit depends on every input bit.
constexpr uint64_t scramble(uint64_t word) {
  word += 0x9E3779B97F4A7C15u;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

/// The key of one random stream of a run: a parameter's initialisation or one
/// dropout. Both words go through `scramble`, so that neighbouring seeds and
/// streams have different keys.
constexpr PhiloxKey philoxKey(uint64_t seed, uint64_t stream) {
  const uint64_t key = scramble(scramble(seed) ^ stream);
  return {uint32_t(key), uint32_t(key >> 32)};
}

/// The id of a stream: the 64-bit FNV-1a hash (Fowler, Noll, Vo) of its name.
constexpr uint64_t streamOf(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char letter : name) {
    hash ^= uint8_t(letter);
    hash *= 0x100000001B3u;
  }
  return hash;
}

/// The counter of a block of four numbers: `block` within `sequence`.
constexpr PhiloxCounter philoxCounter(uint64_t block, uint64_t sequence = 0) {
  return {uint32_t(block), uint32_t(block >> 32), uint32_t(sequence),
          uint32_t(sequence >> 32)};
}

/// The words of sixteen consecutive blocks, in order. The result equals sixteen
/// calls of `philox`, computed with one vector for each word of the counter.
struct PhiloxWords {
  static constexpr int blocks = 16;
  alignas(64) uint32_t words[4 * blocks];

  PhiloxWords(uint64_t firstBlock, uint64_t sequence, PhiloxKey key) {
    uint32_t a[blocks], b[blocks], c[blocks], d[blocks];
    for (int i = 0; i < blocks; ++i) {
      const PhiloxCounter counter =
          philoxCounter(firstBlock + uint64_t(i), sequence);
      a[i] = counter[0];
      b[i] = counter[1];
      c[i] = counter[2];
      d[i] = counter[3];
    }
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
      for (int i = 0; i < blocks; ++i) {
        const uint64_t even = uint64_t(0xD2511F53u) * a[i];
        const uint64_t odd = uint64_t(0xCD9E8D57u) * c[i];
        a[i] = uint32_t(odd >> 32) ^ b[i] ^ key[0];
        b[i] = uint32_t(odd);
        c[i] = uint32_t(even >> 32) ^ d[i] ^ key[1];
        d[i] = uint32_t(even);
      }
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < blocks; ++i) {
      words[4 * i] = a[i];
      words[4 * i + 1] = b[i];
      words[4 * i + 2] = c[i];
      words[4 * i + 3] = d[i];
    }
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_PHILOX_H
