// The counters of a healthy and of a faulty GPU, from a fake driver.

#include "runtime/bench/health/LoadSampler.h"
#include "test/FakeDriver.h"
#include "test/runtime/Says.h"

#include <gtest/gtest.h>

namespace reciperun::bench {
namespace {

using Texts = std::vector<std::string>;

RankHealth healthOf(const char* busId) {
  LoadSampler sampler(FAKE_DRIVER, busId);
  const auto samples = sampler.finish();
  RankHealth rank;
  if (samples)
    addDriverFindings(*samples, rank);
  else
    rank.faults = {"not sampled"};
  return rank;
}

TEST(DriverFindings, AHealthyGpuHasNone) {
  const RankHealth rank = healthOf("0000:19:00.0");
  EXPECT_EQ(rank.faults, Texts());
  EXPECT_EQ(rank.notes, Texts());
}

TEST(DriverFindings, NameErrorsHeatAndPowerLimit) {
  DriverSamples samples;
  samples.before.linkReplays = 5;
  samples.after.linkReplays = 9;
  samples.before.pcieReplays = samples.after.pcieReplays = 3;
  samples.after.eccUncorrected = 3;
  samples.after.isRemapPending = true;
  samples.after.temperature = 91;
  samples.after.powerLimit = 500;
  samples.after.defaultPowerLimit = 700;
  samples.after.pcieWidth = 8;
  samples.after.mostPcieWidth = 16;
  samples.clockReasons = nvml::thermalSlowdown | nvml::powerCap;
  RankHealth rank;
  addDriverFindings(samples, rank);
  EXPECT_EQ(
      rank.faults,
      Texts({"3 uncorrected memory errors since the driver was loaded",
             "bad rows of its memory wait to be remapped: reset the GPU",
             "4 NVLink replays during the measurement",
             "uses 8 of 16 lanes of PCIe", "heat lowered the clock (91 C)",
             "a power limit of 500 W, by default 700"}));
  EXPECT_EQ(rank.notes, Texts({"the power limit of 500 W lowered the clock, as "
                               "large matmuls do"}));
}

TEST(DriverFindings, AFaultyGpuIsSampled) {
  const RankHealth rank = healthOf("0000:a7:00.0");
  ASSERT_EQ(rank.faults.size(), 4u);
  EXPECT_PRED2(says, rank.faults[1], " NVLink replays during the measurement");
}

TEST(DriverFindings, WithoutADriverNothingIsSampled) {
  LoadSampler sampler("no-such-library.so", "0000:19:00.0");
  EXPECT_FALSE(sampler.finish());
  LoadSampler ofCpu(FAKE_DRIVER, "");
  EXPECT_FALSE(ofCpu.finish());
}

} // namespace
} // namespace reciperun::bench
