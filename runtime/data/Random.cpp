// See Random.h.

#include "runtime/data/Random.h"

#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace reciperun::data {

namespace {

/// A 64-bit mixing function (Steele et al. 2014, "Fast Splittable Pseudorandom
/// Number Generators", mix64variant13).
uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

/// One pass of the Feistel network over two halves of `halfBits` bits each.
/// Four rounds suffice for wide halves; narrow ones need more.
uint64_t permute(uint64_t number, int halfBits, uint64_t key) {
  constexpr uint64_t rounds = 8;
  const uint64_t mask = (uint64_t{1} << halfBits) - 1;
  uint64_t left = number >> halfBits, right = number & mask;
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t mixed = mix(key + mix(right + (round << 56)));
    left = std::exchange(right, left ^ (mixed & mask));
  }
  return left << halfBits | right;
}

} // namespace

Random::Random(std::initializer_list<uint64_t> keys) {
  std::vector<uint32_t> words;
  for (uint64_t key : keys) {
    words.push_back(static_cast<uint32_t>(key));
    words.push_back(static_cast<uint32_t>(key >> 32));
  }
  std::seed_seq seeds(words.begin(), words.end());
  generator.seed(seeds);
}

uint64_t Random::below(uint64_t bound) {
  // Rejects draws above the last whole multiple of the bound, which would favor
  // small numbers.
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  const uint64_t limit = most - most % bound;
  uint64_t draw = generator();
  while (draw >= limit)
    draw = generator();
  return draw % bound;
}

std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Random random({seed, epoch});
  for (int64_t i = count - 1; i > 0; --i)
    std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

int64_t shuffledPlace(int64_t place, int64_t count, uint64_t seed,
                      uint64_t epoch) {
  const auto last = static_cast<uint64_t>(count - 1);
  const int halfBits = (std::bit_width(last) + 1) / 2;
  const uint64_t key = mix(seed + mix(epoch + 1));
  auto number = static_cast<uint64_t>(place);
  do
    number = permute(number, halfBits, key);
  while (number > last);
  return static_cast<int64_t>(number);
}

} // namespace reciperun::data
