// Random numbers that are a function of a few keys, equal on every machine:
// std::mt19937_64 and std::seed_seq, whose outputs the C++ standard fixes, and
// a bounded draw of our own, since it does not fix those of its distributions.

#ifndef RECIPERUN_DATA_RANDOM_H
#define RECIPERUN_DATA_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace reciperun::data {

class Random {
public:
  /// Each key counts with all of its 64 bits.
  explicit Random(std::initializer_list<uint64_t> keys);

  /// A number from 0 to bound - 1, all equally likely. bound > 0.
  uint64_t below(uint64_t bound);

private:
  std::mt19937_64 generator;
};

/// 0..count-1 in an order that seed and epoch alone decide (Fisher & Yates in
/// Durstenfeld's form, Knuth vol. 2, algorithm P).
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch);

/// Which of the numbers 0..count-1 comes at `place` in an order of all of them
/// that seed and epoch alone decide, without the memory of a list: a Feistel
/// network over the least even number of bits that holds the count, walked on
/// until it is left for a number below the count (Black & Rogaway 2002,
/// "Ciphers with Arbitrary Finite Domains", sections 4 and 5).
int64_t shuffledPlace(int64_t place, int64_t count, uint64_t seed,
                      uint64_t epoch);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_RANDOM_H
