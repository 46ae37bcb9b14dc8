// Philox4x32-10 compared with the known answers published by its authors
// (Random123, examples/kat_vectors), and the streams built on it.

#include "runtime/kernels/common/Philox.h"

#include <set>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, SixteenBlocksAreSixteenCalls) {
  // Crosses the overflow of the counter's first word.
  const uint64_t first = 0xfffffffau, sequence = 0x123456789abu;
  const PhiloxKey key = philoxKey(1, 2);
  const PhiloxWords together(first, sequence, key);
  for (uint64_t i = 0; i < PhiloxWords::blocks; ++i) {
    const PhiloxCounter alone = philox(philoxCounter(first + i, sequence), key);
    for (uint64_t word = 0; word < 4; ++word)
      EXPECT_EQ(together.words[4 * i + word], alone[word]);
  }
}

TEST(Philox, StreamsAreNumberedByFnv1a) {
  // From the reference vectors of the hash's authors.
  EXPECT_EQ(streamOf(""), 0xcbf29ce484222325u);
  EXPECT_EQ(streamOf("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(streamOf("foobar"), 0x85944171f73967e8u);
}

TEST(Philox, NeighbouringSeedsAndStreamsHaveDifferentKeys) {
  std::set<PhiloxKey> keys;
  for (uint64_t seed = 0; seed < 32; ++seed)
    for (uint64_t stream = 0; stream < 32; ++stream)
      keys.insert(philoxKey(seed, stream));
  EXPECT_EQ(keys.size(), 32u * 32u);
}

} // namespace
} // namespace reciperun::kernels
