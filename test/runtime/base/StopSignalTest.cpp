// Stop signals are noted as long as a run asks for it.

#include "runtime/base/StopSignal.h"

#include <gtest/gtest.h>

#include <csignal>

namespace reciperun {
namespace {

TEST(StopSignalDeathTest, areNotedUntilTheyAreReleased) {
  for (int number : {SIGTERM, SIGINT, SIGUSR1}) {
    watchStopSignals();
    raise(number);
    EXPECT_EQ(stopSignal(), number);
    EXPECT_EXIT(
        {
          releaseStopSignals();
          raise(number);
        },
        testing::KilledBySignal(number), "");
  }
  releaseStopSignals();
}

} // namespace
} // namespace reciperun
