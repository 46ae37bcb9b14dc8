// Paths, compression, and the bodies of the repository's, the trace's and the
// log's requests.

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/Compression.h"
#include "runtime/server/kserve/RepositoryJson.h"
#include "runtime/server/kserve/Routes.h"
#include "runtime/server/kserve/SettingsJson.h"

#include <gtest/gtest.h>

#include <string>

namespace reciperun::server {
namespace {

constexpr size_t mostBytes = 1 << 16;

std::string textOf(const Status& status) {
  return status.isOk() ? "ok"
                       : std::to_string(httpStatusOf(status.code())) + " " +
                             status.message();
}

// ---- routes

/// `<model> <version> <repository> <region>`; `none` without a route.
std::string routeText(const std::string& path) {
  const auto route = kserveRouteOf(path);
  return route ? route->model + " " + route->version + " " + route->repository +
                     " " + route->region
               : "none";
}

TEST(Routes, AreTritons) {
  EXPECT_EQ(routeText("/v2"), "   ");
  EXPECT_EQ(routeText("/v2/health/live"), "   ");
  EXPECT_EQ(routeText("/v2/models/stats"), "   ");
  EXPECT_EQ(routeText("/v2/models/m"), "m   ");
  EXPECT_EQ(routeText("/v2/models/stats/versions/3"), "stats 3  ");
  EXPECT_EQ(routeText("/v2/models/m/versions/3/infer"), "m 3  ");
  EXPECT_EQ(routeText("/v2/models/m/generate_stream"), "m   ");
  EXPECT_EQ(routeText("/v2/models/m/ready"), "m   ");
  EXPECT_EQ(routeText("/v2/models/m/config"), "m   ");
  EXPECT_EQ(routeText("/v2/models/m/stats"), "m   ");
  EXPECT_EQ(routeText("/v2/models/m/trace/setting"), "m   ");
  EXPECT_EQ(routeText("/v2/trace/setting"), "   ");
  EXPECT_EQ(routeText("/v2/logging"), "   ");
  EXPECT_EQ(routeText("/v2/repository/index"), "   ");
  EXPECT_EQ(routeText("/v2/repository/r/index"), "  r ");
  EXPECT_EQ(routeText("/v2/repository/models/m/load"), "m   ");
  EXPECT_EQ(routeText("/v2/repository/r/models/m/unload"), "m  r ");
  EXPECT_EQ(routeText("/v2/systemsharedmemory/status"), "   ");
  EXPECT_EQ(routeText("/v2/cudasharedmemory/region/g/register"), "   g");
}

TEST(Routes, NameTheCall) {
  const auto callOf = [](const char* path) {
    return kserveRouteOf(path)->call;
  };
  EXPECT_EQ(callOf("/v2/models/m"), KServeCall::modelMetadata);
  EXPECT_EQ(callOf("/v2/models/m/infer"), KServeCall::infer);
  EXPECT_EQ(callOf("/v2/models/m/generate"), KServeCall::generate);
  EXPECT_EQ(callOf("/v2/models/m/versions/1/ready"), KServeCall::modelReady);
}

TEST(Routes, OtherPathsHaveNone) {
  for (const char* path : {"",
                           "/",
                           "v2",
                           "/v1",
                           "/v2/",
                           "/v2/health",
                           "/v2/health/x",
                           "/v2/models",
                           "/v2/models/",
                           "/v2/models//infer",
                           "/v2/models/m/x",
                           "/v2/models/m/versions",
                           "/v2/models/m/versions/x/infer",
                           "/v2/models/m/versions/1/trace/setting",
                           "/v2/models/m/infer/x",
                           "/v2/repository",
                           "/v2/repository/models/m",
                           "/v2/repository//index",
                           "/v2/repository/models/m/drop",
                           "/v2/logging/x",
                           "/v2/trace",
                           "/v2/systemsharedmemory",
                           "/v2/systemsharedmemory/region/status",
                           "/v2/models/m/versions/1/"})
    EXPECT_EQ(routeText(path), "none") << path;
}

TEST(Routes, Methods) {
  EXPECT_TRUE(takesMethod(KServeCall::infer, "POST"));
  EXPECT_FALSE(takesMethod(KServeCall::infer, "GET"));
  EXPECT_TRUE(takesMethod(KServeCall::live, "GET"));
  EXPECT_FALSE(takesMethod(KServeCall::live, "HEAD"));
  EXPECT_TRUE(takesMethod(KServeCall::logging, "GET"));
  EXPECT_TRUE(takesMethod(KServeCall::logging, "POST"));
  EXPECT_FALSE(takesMethod(KServeCall::logging, "GET POST") &&
               takesMethod(KServeCall::logging, ""));
}

// ---- compression

TEST(Compression, RoundTrip) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += std::to_string(i * 7919);
  for (const ContentCoding coding :
       {ContentCoding::gzip, ContentCoding::deflate}) {
    const auto packed = compress(text, coding);
    ASSERT_TRUE(packed);
    EXPECT_LT(packed->size(), text.size());
    const auto unpacked = decompress(*packed, text.size());
    ASSERT_TRUE(unpacked) << unpacked.message();
    EXPECT_EQ(*unpacked, text);
    EXPECT_EQ(textOf(decompress(*packed, text.size() - 1).status()),
              "400 Decompressed data size exceeds the maximum allowed value "
              "of " +
                  std::to_string(text.size() - 1) +
                  " bytes. Use --http-max-input-size to increase the limit.");
  }
}

TEST(Compression, DamagedBytesAreRefused) {
  const auto packed = compress("abc", ContentCoding::gzip);
  EXPECT_EQ(decompress(packed->substr(0, packed->size() - 3), 99).message(),
            "failed to decompress the request body: it ends too early");
  EXPECT_EQ(textOf(decompress("no zlib", 99).status()),
            "400 failed to decompress the request body: incorrect header "
            "check");
  EXPECT_FALSE(decompress("", 99));
}

TEST(Compression, Headers) {
  EXPECT_EQ(*contentCodingOf("gzip"), ContentCoding::gzip);
  EXPECT_EQ(*contentCodingOf(""), ContentCoding::identity);
  EXPECT_EQ(*contentCodingOf("identity"), ContentCoding::identity);
  EXPECT_EQ(textOf(contentCodingOf("br").status()),
            "501 Unsupported compression type");
  EXPECT_EQ(acceptedCodingOf(""), ContentCoding::identity);
  EXPECT_EQ(acceptedCodingOf("br, zstd"), ContentCoding::identity);
  EXPECT_EQ(acceptedCodingOf("gzip, deflate"), ContentCoding::gzip);
  EXPECT_EQ(acceptedCodingOf("gzip;q=0.2,deflate;q=0.5"),
            ContentCoding::deflate);
  EXPECT_EQ(acceptedCodingOf("gzip;q=0"), ContentCoding::identity);
  EXPECT_EQ(acceptedCodingOf("gzip;q=x, deflate;q=0.1"),
            ContentCoding::deflate);
  EXPECT_EQ(acceptedCodingOf(",,;q=1, gzip"), ContentCoding::gzip);
}

// ---- the repository

TEST(RepositoryBodies, Index) {
  EXPECT_FALSE(*readIndexBody("", mostBytes));
  EXPECT_FALSE(*readIndexBody("{}", mostBytes));
  EXPECT_TRUE(*readIndexBody(R"({"ready":true})", mostBytes));
  const std::string wrong = "400 Invalid value for 'ready': expected a boolean";
  EXPECT_EQ(textOf(readIndexBody(R"({"ready":1})", mostBytes).status()), wrong);
  // Deep nesting must not take the stack.
  const size_t depth = 250'000;
  EXPECT_EQ(textOf(readIndexBody(R"({"ready":)" + std::string(depth, '[') +
                                     std::string(depth, ']') + "}",
                                 depth * 3)
                       .status()),
            wrong);
}

TEST(RepositoryBodies, Load) {
  EXPECT_FALSE(readLoadBody("", mostBytes)->config);
  const auto load = readLoadBody(
      R"({"parameters":{"config":"{}","file:1/m":"aGVsbG8=",
          "file:2/n":"aGVs\nbG8h"}})",
      mostBytes);
  ASSERT_TRUE(load) << load.message();
  EXPECT_EQ(load->config, "{}");
  const std::map<std::string, std::string> files = {{"1/m", "hello"},
                                                    {"2/n", "hello!"}};
  EXPECT_EQ(load->files, files);
  const auto refusal = [](const std::string& parameters) {
    return textOf(
        readLoadBody(R"({"parameters":)" + parameters + "}", mostBytes)
            .status());
  };
  EXPECT_EQ(refusal(R"({"file:1/m":"aGk="})"),
            "400 Load parameter 'config' must be specified for model file "
            "override");
  EXPECT_EQ(refusal(R"({"config":{}})"),
            "500 attempt to access JSON non-string as string");
  EXPECT_EQ(refusal(R"({"x":"y"})"),
            "400 Unrecognized load parameter 'x' with type 'STRING'");
  EXPECT_EQ(refusal(R"({"config":"{}","file:a":"a*b"})"),
            "400 'file:a' is not base64");
  EXPECT_EQ(refusal("[]"), "500 attempt to get members for non-object");
}

TEST(RepositoryBodies, Unload) {
  EXPECT_FALSE(*readUnloadBody("", mostBytes));
  EXPECT_TRUE(*readUnloadBody(R"({"parameters":{"unload_dependents":true}})",
                              mostBytes));
  EXPECT_EQ(textOf(readUnloadBody(R"({"parameters":{"unload_dependents":"x"}})",
                                  mostBytes)
                       .status()),
            "500 Unable to parse 'unload_dependents': attempt to access JSON "
            "non-boolean as boolean");
}

// ---- settings

TEST(TraceSettings, AreReadAndWritten) {
  TraceSettings traces;
  EXPECT_EQ(traceJson(traces.of("")),
            R"({"trace_level":["OFF"],"trace_rate":"1000","trace_count":"-1",)"
            R"("log_frequency":"0","trace_file":"","trace_mode":"triton"})");
  const auto changes = readTraceBody(
      R"({"trace_level":["OFF"],"trace_rate":"5","trace_count":null,"x":1})",
      mostBytes);
  ASSERT_TRUE(changes) << changes.message();
  const TraceSettings::Values wanted = {
      {"trace_level", {"OFF"}}, {"trace_rate", {"5"}}, {"trace_count", {}}};
  EXPECT_EQ(*changes, wanted);
}

TEST(TraceSettings, RefusalsHaveTritonsTextAndChangeNothing) {
  TraceSettings traces;
  const TraceSettings::Values before = traces.of("");
  const auto refusal = [&](const std::string& body) {
    const auto changes = readTraceBody(body, mostBytes);
    return textOf(changes ? traces.change("", *changes) : changes.status());
  };
  EXPECT_EQ(refusal(R"({"trace_file":"a"})"),
            "501 trace file location can not be updated through network "
            "protocol");
  EXPECT_EQ(refusal(R"({"trace_count":"3","trace_rate":"a"})"),
            "400 Unable to parse 'trace_rate', got: a");
  EXPECT_EQ(refusal(R"({"trace_rate":"99999999999"})"),
            "400 Unable to parse 'trace_rate', value is out of range [ 0, "
            "4294967295 ], got: 99999999999");
  EXPECT_EQ(refusal(R"({"trace_count":"-2"})"),
            "400 Unable to parse 'trace_count', value is out of range [ -1, "
            "2147483647 ], got: -2");
  EXPECT_EQ(refusal(R"({"log_frequency":5})"),
            "500 attempt to access JSON non-string as string");
  EXPECT_EQ(refusal(R"({"trace_level":["OFF","TENSORS"]})"),
            "400 Expect only one trace level 'OFF' is specified");
  EXPECT_EQ(refusal(R"({"trace_level":"OFF"})"),
            "500 attempt to access JSON non-array as array");
  EXPECT_EQ(refusal(R"({"trace_level":["TIMESTAMPS"]})"),
            "400 Attempting to set invalid trace setting :trace file name is "
            "not given");
  EXPECT_EQ(traces.of(""), before);
  EXPECT_EQ(refusal(R"({"trace_level":["OFF"]})"), "ok");
}

TEST(LogSettings, ChangeAndRefuse) {
  const auto changed =
      readLogBody({},
                  R"({"log_file":null,"log_info":false,"log_warning":false,
          "log_error":false,"log_verbose_level":3,"log_format":"ISO8601"})",
                  mostBytes);
  ASSERT_TRUE(changed) << changed.message();
  EXPECT_EQ(logJson(*changed),
            R"({"log_file":"","log_info":false,"log_warning":false,)"
            R"("log_error":false,"log_verbose_level":3,)"
            R"("log_format":"ISO8601"})");
  const auto refusal = [](const char* body) {
    return textOf(readLogBody({}, body, mostBytes).status());
  };
  EXPECT_EQ(refusal(R"({"log_file":"x"})"),
            "501 log file location can not be updated through network "
            "protocol");
  EXPECT_EQ(refusal(R"({"log_format":"x"})"),
            "503 invalid argument for --log_format, got: x");
  EXPECT_EQ(refusal(R"({"log_info":1})"),
            "500 attempt to access JSON non-boolean as boolean");
}

} // namespace
} // namespace reciperun::server
