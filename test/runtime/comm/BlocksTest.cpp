// Parts of a split tensor, copied out of and into the whole.

#include "runtime/comm/Blocks.h"
#include "runtime/comm/LocalCommunicator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace reciperun::comm {
namespace {

TEST(Blocks, packAndUnpackInPiecesAreInverse) {
  // A tensor [2, 6, 2] split in three along dimension 1.
  const int64_t partShape[] = {2, 2, 2};
  Blocks blocks = Blocks::of(partShape, 1, 3, sizeof(int16_t));
  EXPECT_EQ(blocks.shardElements(), 8);
  EXPECT_FALSE(blocks.contiguous());
  std::vector<int16_t> whole(24), back(24);
  for (size_t i = 0; i < whole.size(); ++i)
    whole[i] = int16_t(i);
  auto* from = reinterpret_cast<std::byte*>(whole.data());
  auto* to = reinterpret_cast<std::byte*>(back.data());
  std::vector<int16_t> part(8);
  blocks.pack(from, 1, 0, 8, reinterpret_cast<std::byte*>(part.data()));
  EXPECT_EQ(part, (std::vector<int16_t>{4, 5, 6, 7, 16, 17, 18, 19}));
  for (int number = 0; number < 3; ++number)
    for (int64_t begin = 0; begin < 8; begin += 3) {
      int64_t end = std::min<int64_t>(begin + 3, 8);
      std::byte piece[3 * sizeof(int16_t)];
      blocks.pack(from, number, begin, end, piece);
      blocks.unpack(piece, number, begin, end, to);
    }
  EXPECT_EQ(back, whole);
}

TEST(LocalCommunicator, copies) {
  LocalCommunicator local;
  std::vector<float> in = {1, 2, 3}, out(3);
  const int64_t shape[] = {3};
  Tensor from{in.data(), plan::DType::f32, shape};
  Tensor to{out.data(), plan::DType::f32, shape};
  ASSERT_TRUE(local.allReduce(0, from, to, Reduction::sum).isOk());
  EXPECT_EQ(out, in);
  ASSERT_TRUE(local.allGather(0, from, from, 0).isOk());
  EXPECT_EQ(local.maximum(5).status().message(), "");
  EXPECT_FALSE(local.send(1, {}).isOk());
}

} // namespace
} // namespace reciperun::comm
