// The settings of tracing: what a change keeps, forgets and refuses.

#include "runtime/server/settings/TraceSettings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reciperun::server {
namespace {

using Texts = std::vector<std::string>;

TEST(TraceSettings, ModelsHaveTheSettingsOfTheServerUntilTheyChange) {
  TraceSettings traces;
  EXPECT_EQ(traces.of("M").at("trace_rate"), Texts{"1000"});
  ASSERT_TRUE(traces.change("", {{"trace_rate", {"5"}}}).isOk());
  EXPECT_EQ(traces.of("M").at("trace_rate"), Texts{"5"});
  ASSERT_TRUE(traces.change("M", {{"trace_rate", {"7"}}}).isOk());
  EXPECT_EQ(traces.of("M").at("trace_rate"), Texts{"7"});
  EXPECT_EQ(traces.of("N").at("trace_rate"), Texts{"5"});
  ASSERT_TRUE(traces.change("M", {{"trace_rate", {}}}).isOk());
  EXPECT_EQ(traces.of("M").at("trace_rate"), Texts{"5"});
  ASSERT_TRUE(traces.change("", {{"trace_rate", {}}}).isOk());
  EXPECT_EQ(traces.of("M").at("trace_rate"), Texts{"1000"});
  ASSERT_TRUE(traces.change("", {{"trace_count", {"007"}}}).isOk());
  EXPECT_EQ(traces.of("").at("trace_count"), Texts{"7"});
}

TEST(TraceSettings, RefuseWithoutAChange) {
  const struct {
    TraceSettings::Values changes;
    const char* failure;
  } cases[] = {
      {{{"trace_file", {"x"}}},
       "trace file location can not be updated through network protocol"},
      {{{"trace_level", {"OFF", "TENSORS"}}},
       "Expect only one trace level 'OFF' is specified"},
      {{{"trace_level", {"TIMESTAMPS"}}},
       "Attempting to set invalid trace setting :trace file name is not "
       "given"},
      {{{"trace_level", {"TENSORS"}}, {"trace_rate", {"0"}}},
       "Attempting to set invalid trace setting :sample rate must be "
       "non-zero"},
      {{{"trace_rate", {"1", "2"}}}, "expect only 1 value for 'trace_rate'"},
      {{{"trace_rate", {"x"}}}, "Unable to parse 'trace_rate', got: x"},
      {{{"trace_rate", {"-1"}}},
       "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 "
       "], got: -1"},
      {{{"trace_count", {"-2"}}},
       "Unable to parse 'trace_count', value is out of range [ -1, 2147483647 "
       "], got: -2"},
      {{{"log_frequency", {"99999999999999999999"}}},
       "Unable to parse 'log_frequency', value is out of range [ 0, "
       "4294967295 ], got: 99999999999999999999"}};
  TraceSettings traces;
  const TraceSettings::Values before = traces.of("");
  for (const auto& each : cases)
    EXPECT_EQ(traces.change("", each.changes).message(), each.failure);
  EXPECT_EQ(traces.of(""), before);
}

} // namespace
} // namespace reciperun::server
