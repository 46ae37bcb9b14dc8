// Random numbers as a function of a few keys, equal on every machine:
// std::mt19937_64 and std::seed_seq, whose outputs the C++ standard specifies,
// and our own bounded draw, since it does not specify those of its
// distributions.

#ifndef RECIPERUN_DATA_RANDOM_H
#define RECIPERUN_DATA_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace reciperun::data {

class Random {
public:
  /// All 64 bits of each key affect the sequence.
  explicit Random(std::initializer_list<uint64_t> keys);

  /// A uniform number from 0 to bound - 1. bound > 0.
  uint64_t below(uint64_t bound);

private:
  std::mt19937_64 generator;
};

/// A permutation of 0..count-1 determined by seed and epoch (Fisher & Yates in
/// Durstenfeld's form, Knuth vol. 2, algorithm P).
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch);

/// The element at index `place` of a permutation of 0..count-1 determined by
/// seed and epoch, computed in constant memory: a Feistel network over the
/// smallest even number of bits that holds the count, iterated until the result
/// is below the count (Black & Rogaway 2002, "Ciphers with Arbitrary Finite
/// Domains", sections 4 and 5).
int64_t shuffledPlace(int64_t place, int64_t count, uint64_t seed,
                      uint64_t epoch);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_RANDOM_H
