// The settings of the log and the level that they stand for.

#include "runtime/server/settings/LogSettings.h"

#include <gtest/gtest.h>

namespace reciperun::server {
namespace {

TEST(LogSettings, HaveTheNearestLevel) {
  LogSettings settings;
  EXPECT_EQ(logLevelOf(settings), LogLevel::info);
  settings.verboseLevel = 1;
  EXPECT_EQ(logLevelOf(settings), LogLevel::debug);
  settings.verboseLevel = 0;
  settings.hasInfo = false;
  EXPECT_EQ(logLevelOf(settings), LogLevel::warning);
  settings.hasWarnings = false;
  EXPECT_EQ(logLevelOf(settings), LogLevel::error);
  for (const LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    setLogLevel(level);
    EXPECT_EQ(logLevelOf(logSettingsNow()), level);
  }
  setLogLevel(LogLevel::info);
}

TEST(LogSettings, AChangeTakesEffectAtOnce) {
  LogStore store;
  EXPECT_TRUE(store.settings().hasInfo);
  EXPECT_EQ(store.settings().verboseLevel, 0u);
  LogSettings changed = store.settings();
  changed.verboseLevel = 3;
  store.change(changed);
  EXPECT_EQ(store.settings().verboseLevel, 3u);
  EXPECT_TRUE(logs(LogLevel::debug));
  setLogLevel(LogLevel::info);
}

} // namespace
} // namespace reciperun::server
