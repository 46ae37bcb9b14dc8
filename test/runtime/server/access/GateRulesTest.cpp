// What the gate decides by: restricted APIs, traces and the log's lines.

#include "runtime/server/access/AccessLog.h"
#include "runtime/server/access/RestrictedApis.h"
#include "runtime/server/access/TraceContext.h"

#include <gtest/gtest.h>

#include <map>

using namespace reciperun;
using namespace reciperun::server;

namespace {

std::optional<std::string> missing(const RestrictedApis& restricted,
                                   const std::string& path,
                                   std::map<std::string, std::string> headers) {
  return restricted.missingHeader(
      path, [&](const std::string& name) -> const std::string& {
        return headers[name];
      });
}

const std::string trace = "0af7651916cd43dd8448eb211c80319c";
const std::string span = "b7ad6b7169203331";

} // namespace

TEST(RestrictedApis, GroupPathsAsTritonDoes) {
  for (const auto& [path, api] : std::map<std::string, Api>{
           {"/v2/health/live", Api::health},
           {"/health", Api::health},
           {"/v2/models/m/ready", Api::health},
           {"/v2", Api::metadata},
           {"/v2/models/m", Api::metadata},
           {"/v2/models/infer", Api::metadata},
           {"/v2/models/m/versions/2", Api::metadata},
           {"/v1/models", Api::metadata},
           {"/v2/models/m/infer", Api::inference},
           {"/v2/models/m/versions/2/infer", Api::inference},
           {"/v2/models/versions/generate_stream", Api::inference},
           {"/v2/models/m/generate", Api::inference},
           {"/v1/chat/completions", Api::inference},
           {"/v1/embeddings", Api::inference},
           {"/tokenize", Api::inference},
           {"/v2/models/m/config", Api::modelConfig},
           {"/v2/models/m/versions/1/stats", Api::statistics},
           {"/v2/models/stats", Api::statistics},
           {"/v2/models/m/trace/setting", Api::trace},
           {"/v2/trace/setting", Api::trace},
           {"/v2/logging", Api::logging},
           {"/v2/repository/index", Api::modelRepository},
           {"/v2/repository/models/m/load", Api::modelRepository},
           {"/v2/systemsharedmemory/status", Api::sharedMemory},
           {"/v2/cudasharedmemory/region/r/register", Api::sharedMemory}})
    EXPECT_EQ(apiOf(path), api) << path;
  EXPECT_FALSE(apiOf("/metrics"));
  EXPECT_FALSE(apiOf("/v2x"));
}

TEST(RestrictedApis, NeedTheHeaderWithItsValue) {
  RestrictedApis restricted;
  EXPECT_FALSE(missing(restricted, "/v2/logging", {}));
  ASSERT_TRUE(restricted.add("inference,logging:X-Key=a=b:c").isOk());
  ASSERT_TRUE(restricted.add("health:other=x").isOk());
  EXPECT_EQ(missing(restricted, "/v2/logging", {}), "X-Key");
  EXPECT_EQ(missing(restricted, "/v2/logging", {{"x-key", "a"}}), "X-Key");
  EXPECT_FALSE(missing(restricted, "/v2/logging", {{"x-key", "a=b:c"}}));
  EXPECT_EQ(missing(restricted, "/v2/health/live", {{"x-key", "a=b:c"}}),
            "other");
  EXPECT_FALSE(missing(restricted, "/v2/models/m", {}));
}

TEST(RestrictedApis, RefuseOtherForms) {
  for (const char* option : {"", "health", "health:", "health:a", "health:=b",
                             "health:a=", ":a=b", "health,:a=b"}) {
    RestrictedApis restricted;
    EXPECT_FALSE(restricted.add(option).isOk()) << option;
  }
  RestrictedApis restricted;
  const std::string unknown = restricted.add("all:a=secret").message();
  EXPECT_NE(unknown.find("unknown API `all`"), std::string::npos) << unknown;
  EXPECT_EQ(unknown.find("secret"), std::string::npos) << unknown;
  const std::string twice = restricted.add("trace,trace:a=b").message();
  EXPECT_NE(twice.find("`trace` is restricted twice"), std::string::npos);
}

TEST(TraceContext, IsReadFromItsHeaders) {
  const std::string header = "00-" + trace + "-" + span + "-01";
  const auto read = traceOf(header, "a=b, c=d");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->trace, trace);
  EXPECT_EQ(read->parent, span);
  EXPECT_EQ(read->header, header);
  EXPECT_EQ(read->state, "a=b, c=d");
  EXPECT_TRUE(traceOf("cc-" + trace + "-" + span + "-01-more", ""));
  for (const std::string& state :
       {std::string("a"), std::string("a=\x01"), std::string(513, 'a')})
    EXPECT_EQ(traceOf(header, state)->state, "") << state;
}

TEST(TraceContext, IsNothingWhenInvalid) {
  const std::string good = "00-" + trace + "-" + span + "-01";
  ASSERT_TRUE(traceOf(good, ""));
  for (const std::string& header :
       {std::string(), good.substr(1), good + "0", good + "-more",
        "ff" + good.substr(2), "00-" + std::string(32, '0') + good.substr(35),
        "00-" + trace + "-" + std::string(16, '0') + "-01",
        "00-" + trace + "_" + span + "-01", "00-" + trace + "-" + span + "-0x",
        "00-0AF7" + good.substr(7), "cc" + good.substr(2) + "more",
        "cc" + good.substr(2) + "-\n", good + ", " + good})
    EXPECT_FALSE(traceOf(header, "")) << header;
}

TEST(AccessLog, WritesOneLineOfJson) {
  const AccessRecord record = {.id = "7",
                               .client = "::1",
                               .method = "POST",
                               .path = "/a\n\"\xff",
                               .status = 200,
                               .bytesIn = 3,
                               .bytesOut = 4,
                               .milliseconds = 1.23456,
                               .firstByte = 0.5,
                               .model = "m",
                               .promptTokens = 5,
                               .answerTokens = 6,
                               .key = "k",
                               .trace = trace,
                               .parent = span};
  const std::chrono::sys_days day{std::chrono::year(2026) / 2 / 3};
  EXPECT_EQ(
      lineOf(record, day + std::chrono::milliseconds(3'661'007)),
      "{\"time\":\"2026-02-03T01:01:01.007Z\",\"id\":\"7\",\"client\":\"::1\","
      "\"method\":\"POST\",\"path\":\"/a\\n\\\"\\ufffd\",\"status\":200,"
      "\"bytes_in\":3,\"bytes_out\":4,\"duration_ms\":1.235,"
      "\"first_byte_ms\":0.5,\"model\":\"m\",\"tokens_in\":5,\"tokens_out\":6,"
      "\"key\":\"k\",\"trace_id\":\"" +
          trace + "\",\"parent_id\":\"" + span + "\"}\n");
}

TEST(AccessLog, LeavesOutWhatIsNotKnown) {
  const AccessRecord record = {.id = "7",
                               .client = "::1",
                               .method = "GET",
                               .path = std::string(5000, 'a'),
                               .status = 499,
                               .isComplete = false};
  const std::string line = lineOf(record, {});
  EXPECT_NE(line.find("\"duration_ms\":0.0,\"aborted\":true}\n"),
            std::string::npos)
      << line;
  EXPECT_LT(line.size(), 1300u);
}
