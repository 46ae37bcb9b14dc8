// The settings of tracing and of the log: what a change keeps, forgets and
// refuses.

#include "runtime/server/grpc/SettingStore.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reciperun::server {
namespace {

using Texts = std::vector<std::string>;

TEST(SettingStore, modelsHaveTheSettingsOfTheServerUntilTheyChange) {
  TraceStore store;
  EXPECT_EQ(store.of("M").at("trace_rate"), Texts{"1000"});
  ASSERT_TRUE(store.change("", {{"trace_rate", {"5"}}}).isOk());
  EXPECT_EQ(store.of("M").at("trace_rate"), Texts{"5"});
  ASSERT_TRUE(store.change("M", {{"trace_rate", {"7"}}}).isOk());
  EXPECT_EQ(store.of("M").at("trace_rate"), Texts{"7"});
  EXPECT_EQ(store.of("N").at("trace_rate"), Texts{"5"});
  ASSERT_TRUE(store.change("M", {{"trace_rate", {}}}).isOk());
  EXPECT_EQ(store.of("M").at("trace_rate"), Texts{"5"});
  ASSERT_TRUE(store.change("", {{"trace_rate", {}}}).isOk());
  EXPECT_EQ(store.of("M").at("trace_rate"), Texts{"1000"});
}

TEST(SettingStore, refusesTraceSettings) {
  const struct {
    TraceStore::Values changes;
    const char* failure;
  } cases[] = {
      {{{"trace_file", {"x"}}},
       "trace file location can not be updated through network protocol"},
      {{{"trace_level", {"OFF", "TENSORS"}}},
       "Expect only one trace level 'OFF' is specified"},
      {{{"trace_level", {"TIMESTAMPS"}}},
       "Attempting to set invalid trace setting :trace file name is not "
       "given"},
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
  TraceStore store;
  const TraceStore::Values before = store.of("");
  for (const auto& each : cases)
    EXPECT_EQ(store.change("", each.changes).message(), each.failure);
  EXPECT_EQ(store.of(""), before);
}

TEST(SettingStore, changesAllSettingsOfTheLogOrNone) {
  LogStore store;
  ASSERT_TRUE(store
                  .change({{"log_info", false},
                           {"log_verbose_level", 3u},
                           {"log_format", std::string("ISO8601")}})
                  .isOk());
  EXPECT_EQ(store.all().at("log_info"), LogStore::Value(false));
  EXPECT_EQ(store.all().at("log_warning"), LogStore::Value(true));
  EXPECT_EQ(store.all().at("log_verbose_level"), LogStore::Value(3u));

  const LogStore::Values before = store.all();
  const struct {
    LogStore::Values changes;
    const char* failure;
  } cases[] = {
      {{{"log_file", std::string("x")}},
       "log file location can not be updated through network protocol"},
      {{{"log_error", false}, {"log_warning", 1u}},
       "expect boolean for 'log_warning'"},
      {{{"log_verbose_level", true}}, "expect int32 for 'log_verbose_level'"},
      {{{"log_format", {}}}, "expect string for 'log_format'"},
      {{{"log_format", std::string("loud")}},
       "invalid argument for log_format, got: loud"}};
  for (const auto& each : cases)
    EXPECT_EQ(store.change(each.changes).message(), each.failure);
  EXPECT_EQ(store.all(), before);
}

} // namespace
} // namespace reciperun::server
