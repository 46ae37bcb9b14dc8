// Efficiencies of matmuls and attention, against what was measured on one H200.

#include "compiler/cost/Kernels.h"

#include <gtest/gtest.h>

namespace recipec::cost {
namespace {

constexpr double multiprocessors = 132;
constexpr double pause = 200;

double efficiency(MatmulShape shape) {
  return matmulEfficiency(shape, multiprocessors, pause);
}

TEST(Matmuls, LargeOnesAreNearlyEfficient) {
  const double large = efficiency({8192, 14336, 4096});
  EXPECT_GT(large, 0.9);
  EXPECT_LT(large, 1);
}

TEST(Matmuls, TilesBeyondAWaveTakeAnother) {
  // 132 and 144 tiles of 128 x 256.
  const double one = efficiency({12 * 128, 11 * 256, 65536});
  const double two = efficiency({12 * 128, 12 * 256, 65536});
  EXPECT_NEAR(one, 65536 / (65536 + pause), 1e-6);
  EXPECT_LT(two, 0.95 * one);
}

TEST(Matmuls, FewTilesSplitK) {
  // 8 tiles of 132 multiprocessors would be 6 %.
  EXPECT_GT(efficiency({512, 512, 65536}), 0.3);
}

TEST(Matmuls, ShortKAndNarrowMatricesAreSlower) {
  EXPECT_LT(efficiency({8192, 8192, 1024}), efficiency({8192, 8192, 8192}));
  EXPECT_LT(efficiency({8192, 32, 4096}), 0.8 * efficiency({8192, 4096, 4096}));
}

TEST(Matmuls, ManySmallOnesFillTheWaveOfOne) {
  EXPECT_GT(efficiency({128, 512, 256, 16}),
            1.5 * efficiency({128, 512, 256, 1}));
}

// docs/performance.md, "The gap to the targets": TFLOP/s of causal attention in
// training, where matmuls reach 0.98 of 689. Those of a backward pass count 5
// matmuls, ours 4.
TEST(Attention, ReachesWhatAnH200Does) {
  constexpr double matmuls = 0.98 * 689;
  auto forward = [](double width, double keys) {
    return matmuls * attentionEfficiency(width, keys, false, 1);
  };
  auto backward = [](double width, double keys) {
    return matmuls * attentionEfficiency(width, keys, true, 1) * 5 / 4;
  };
  EXPECT_NEAR(forward(128, 2048) / 447, 1, 0.05);
  EXPECT_NEAR(backward(128, 2048) / 347, 1, 0.05);
  EXPECT_NEAR(forward(64, 2048) / 337, 1, 0.05);
  EXPECT_NEAR(backward(64, 2048) / 281, 1, 0.05);
}

TEST(Attention, FewerExponentialsForItsFlopsSlowItDown) {
  EXPECT_LT(attentionEfficiency(128, 4096, false, 0.5),
            attentionEfficiency(128, 4096, false, 1));
}

TEST(KernelCost, OnlyArithmeticFollowsTheClock) {
  const KernelCost computing{.computing = 2, .moving = 1, .launch = 0.5};
  EXPECT_DOUBLE_EQ(computing.seconds(1), 2.5);
  EXPECT_DOUBLE_EQ(computing.seconds(1.25), 2.1);
  EXPECT_DOUBLE_EQ(computing.seconds(4), 1.5);
}

} // namespace
} // namespace recipec::cost
