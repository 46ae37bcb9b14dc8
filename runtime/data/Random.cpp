// See Random.h.

#include "runtime/data/Random.h"

#include <limits>
#include <numeric>
#include <utility>

namespace reciperun::data {

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
  // Draws above the last whole multiple of the bound would favor small numbers.
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

} // namespace reciperun::data
