// The settings of `--metrics-config`, and what is wrong with others.

#include "runtime/server/metrics/MetricsConfig.h"

#include <gtest/gtest.h>

namespace reciperun::server {
namespace {

TEST(MetricsConfig, TakesTritonsSettings) {
  MetricsConfig config;
  EXPECT_TRUE(applySetting("counter_latencies=false", config).isOk());
  EXPECT_TRUE(applySetting("histogram_latencies=true", config).isOk());
  EXPECT_TRUE(applySetting("summary_latencies=true", config).isOk());
  EXPECT_TRUE(
      applySetting("summary_quantiles=0.5:0.05,0.99:0.001", config).isOk());
  EXPECT_FALSE(config.counterLatencies);
  EXPECT_TRUE(config.histogramLatencies);
  EXPECT_TRUE(config.summaryLatencies);
  const std::vector<SummaryQuantile> quantiles = {{0.5, 0.05}, {0.99, 0.001}};
  EXPECT_EQ(config.quantiles, quantiles);
  EXPECT_TRUE(
      applySetting("summary_quantiles=0.5:0.05 0.99:0.001", config).isOk());
  EXPECT_EQ(config.quantiles, quantiles);
}

TEST(MetricsConfig, RefusesWhatItDoesNotKnow) {
  const std::pair<const char*, const char*> wrong[] = {
      {"summary_latencies", "no `setting=value`"},
      {"latencies=true", "no setting `latencies`"},
      {"summary_latencies=yes", "`true` or `false`, not `yes`"},
      {"summary_quantiles=0.5", "not `0.5`"},
      {"summary_quantiles=1.5:0.1", "not `1.5:0.1`"},
      {"summary_quantiles=0.5:x", "not `0.5:x`"},
      {"summary_quantiles=0.5:nan", "not `0.5:nan`"},
      {"summary_quantiles=,", "is empty"}};
  for (const auto& [text, words] : wrong) {
    MetricsConfig config;
    const Status status = applySetting(text, config);
    EXPECT_NE(status.message().find(words), std::string::npos)
        << text << ": " << status.message();
    EXPECT_EQ(config.quantiles, MetricsConfig().quantiles);
  }
}

} // namespace
} // namespace reciperun::server
