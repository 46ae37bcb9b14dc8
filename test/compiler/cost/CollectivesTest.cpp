// Groups over domains, and the time of collectives on both levels.

#include "compiler/cost/Collectives.h"

#include <gtest/gtest.h>

namespace recipec::cost {
namespace {

/// pp 2, dp 4, tp 4: 32 ranks.
ir::Module mesh() {
  ir::Module module;
  module.axes = {{"pp", 2, {}}, {"dp", 4, {}}, {"cp", 1, {}}, {"tp", 4, {}}};
  module.stages = 2;
  return module;
}

ir::AxisSet axes(const ir::Module& module, std::string_view name) {
  return ir::findGroup(module, name);
}

Machine machine() {
  Machine machine;
  machine.link = {100e9, 1e-6};
  machine.network = {10e9, 10e-6};
  machine.linkRanks = 8;
  return machine;
}

TEST(Spans, CountTheRanksOfADomain) {
  const ir::Module module = mesh();
  EXPECT_EQ(rankCount(module), 32);
  const GroupSpan tp = spanOf(module, axes(module, "tp"), 8);
  EXPECT_EQ(tp.ranks, 4);
  EXPECT_EQ(tp.local, 4);
  EXPECT_FALSE(tp.isFar());
  const GroupSpan dp = spanOf(module, axes(module, "dp"), 8);
  EXPECT_EQ(dp.ranks, 4);
  EXPECT_EQ(dp.local, 2);
  EXPECT_TRUE(dp.isFar());
  EXPECT_EQ(spanOf(module, axes(module, "dp+tp"), 8).local, 8);
  EXPECT_EQ(spanOf(module, axes(module, "dp"), 1).local, 1);
  EXPECT_FALSE(spanOf(module, axes(module, "dp+tp"), 72).isFar());
}

TEST(Rings, MoveAllButTheOwnShard) {
  EXPECT_NEAR(ringSeconds(machine(), {4, 4}, 100e9), 0.75, 1e-5);
  EXPECT_EQ(ringSeconds(machine(), {1, 1}, 100e9), 0);
}

TEST(Rings, ShareTheAdaptersOfTheirRanks) {
  // Of 16 ranks a rank receives 15/16 of 100 GB, over 8 adapters of 10 GB/s.
  EXPECT_NEAR(ringSeconds(machine(), {16, 8}, 100e9), 15.0 / 16 * 100 / 80,
              1e-3);
  // With one rank of each domain it has one.
  EXPECT_NEAR(ringSeconds(machine(), {2, 1}, 100e9), 5, 1e-3);
}

TEST(Rings, TakeLatency) {
  EXPECT_NEAR(ringSeconds(machine(), {4, 4}, 0), 1e-6, 1e-9);
  EXPECT_GT(ringSeconds(machine(), {64, 1}, 0),
            ringSeconds(machine(), {2, 1}, 0));
}

TEST(Exchanges, SendMostOverTheNetwork) {
  // 56 of 64 parts leave the domain.
  EXPECT_NEAR(exchangeSeconds(machine(), {64, 8}, 64e9), 5.6, 1e-3);
  EXPECT_LT(exchangeSeconds(machine(), {8, 8}, 64e9), 1.2);
}

TEST(Messages, AreSlowerBetweenDomains) {
  EXPECT_NEAR(messageSeconds(machine(), false, 1e9), 0.010001, 1e-9);
  EXPECT_NEAR(messageSeconds(machine(), true, 1e9), 0.10001, 1e-9);
}

TEST(Messages, LeaveTheDomainWhereAnyRanksDo) {
  ir::Module module = mesh();
  Machine near = machine();
  near.linkRanks = 32;
  const Kernels kernels(module, near);
  EXPECT_TRUE(Collectives(module, machine(), kernels).isFar(1));
  EXPECT_FALSE(Collectives(module, near, kernels).isFar(1));
}

} // namespace
} // namespace recipec::cost
