// The GPUs of a fake driver: how they are attached, and their health.

#include "runtime/nvml/Library.h"
#include "test/FakeDriver.h"

#include <gtest/gtest.h>

namespace reciperun::nvml {
namespace {

TEST(NvmlLibrary, CountsActiveLinksByTheirOtherEnd) {
  const auto driver = Library::open(FAKE_DRIVER);
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(driver->driverVersion(), "580.95.05");
  const std::vector<Gpu> gpus = driver->gpus();
  ASSERT_EQ(gpus.size(), 4u);
  EXPECT_EQ(gpus[0].busId, "0000:19:00.0");
  EXPECT_EQ(gpus[0].computeCapability, 90);
  EXPECT_EQ(gpus[0].vendor, 0x10deu);
  EXPECT_EQ(gpus[0].device, 0x2335u);
  ASSERT_EQ(gpus[0].links.size(), 4u);
  EXPECT_EQ(gpus[0].links[0].busId, "0000:05:00.0");
  EXPECT_EQ(gpus[0].links[0].count, 5);
  EXPECT_EQ(gpus[0].linkCount(), 18);
  EXPECT_EQ(gpus[3].linkCount(), 16);
  EXPECT_EQ(gpus[0].chipLinks, 0);
}

TEST(NvmlLibrary, HealthHasWhatTheDriverSupports) {
  const auto driver = Library::open(FAKE_DRIVER);
  ASSERT_NE(driver, nullptr);
  EXPECT_FALSE(driver->health("0000:01:00.0"));
  EXPECT_FALSE(driver->health(""));
  const auto good = driver->health("0000:19:00.0");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->powerLimit, 700);
  EXPECT_EQ(good->eccUncorrected, 0u);
  EXPECT_EQ(good->linkReplays, 18u * 7);
  EXPECT_EQ(good->pcieReplays, std::nullopt);
  EXPECT_EQ(good->isRemapPending, std::nullopt);
  const auto bad = driver->health("0000:a7:00.0");
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->powerLimit, 500);
  EXPECT_EQ(bad->defaultPowerLimit, 700);
  EXPECT_EQ(bad->temperature, 91);
  EXPECT_EQ(bad->eccUncorrected, 3u);
  EXPECT_EQ(bad->clockReasons, thermalSlowdown | powerCap);
}

TEST(NvmlLibrary, BusIdsAreThoseOfSysfs) {
  EXPECT_EQ(busIdOf("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(busIdOf("0001:0a:1f.7"), "0001:0a:1f.7");
  EXPECT_EQ(busIdOf("1"), std::nullopt);
  EXPECT_EQ(busIdOf("0000:1b:00.0 "), std::nullopt);
  EXPECT_EQ(busIdOf("fffffff:ffff:ff"), std::nullopt);
}

TEST(NvmlLibrary, AnotherLibraryIsNoDriver) {
  EXPECT_EQ(Library::open("no-such-library.so"), nullptr);
  EXPECT_EQ(Library::open("libc.so.6"), nullptr);
}

} // namespace
} // namespace reciperun::nvml
