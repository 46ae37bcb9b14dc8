// The JSON behind the page of the server, and the page itself.

#include "runtime/server/front/StatusPage.h"
#include "test/runtime/serve/engine/FakeModel.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace reciperun::server {
namespace {

using Json = nlohmann::json;

TEST(StatusPage, ShowsTheEngine) {
  ServerMetrics metrics;
  EngineMetrics& engine = metrics.addEngine(
      {.model = "<b>\xff", .limits = serve::smallLimits()}, [] {
        serve::EngineStatistics now;
        now.running = 3;
        now.waiting = 2;
        now.pages = 128;
        now.heldPages = 32;
        now.scheduler.lookedUpTokens = 100;
        now.scheduler.foundTokens = 40;
        now.scheduler.preemptions = 1;
        now.scheduler.steps = 9;
        return now;
      });
  const auto now = std::chrono::steady_clock::now();
  engine.countFirstToken(0.2, 11, now);
  engine.countTokens(5);
  engine.countIntervals(0.04, 4, now);
  engine.countAnswer({.end = AnswerEnd::error});
  StatusPage page(metrics);
  const Json status = Json::parse(page.statusJson("1.2", "ready"));
  EXPECT_EQ(status["version"], "1.2");
  EXPECT_EQ(status["state"], "ready");
  EXPECT_GE(status["uptime"].get<double>(), 0);
  ASSERT_EQ(status["engines"].size(), 1u);
  const Json& shown = status["engines"][0];
  EXPECT_EQ(shown["name"], "<b>\xEF\xBF\xBD"); // as it is, but valid UTF-8
  EXPECT_EQ(shown["running"], 3);
  EXPECT_EQ(shown["slots"], 8);
  EXPECT_EQ(shown["waiting"], 2);
  EXPECT_EQ(shown["pages"], 128);
  EXPECT_EQ(shown["pages_used"], 32);
  EXPECT_EQ(shown["page_tokens"], 4);
  EXPECT_EQ(shown["prompt_tokens"], 11);
  EXPECT_EQ(shown["answer_tokens"], 5);
  EXPECT_EQ(shown["answers"],
            Json::parse(R"({"stop":0,"length":0,"abort":0,"error":1})"));
  EXPECT_EQ(shown["prefix_lookups"], 100);
  EXPECT_EQ(shown["prefix_hits"], 40);
  EXPECT_EQ(shown["preemptions"], 1);
  EXPECT_EQ(shown["steps"], 9);
  EXPECT_EQ(shown["ttft"]["count"], 1);
  EXPECT_NEAR(shown["ttft"]["p50"].get<double>(), 0.2, 0.01);
  EXPECT_EQ(shown["itl"]["count"], 4);
  EXPECT_NEAR(shown["itl"]["p95"].get<double>(), 0.01, 0.0005);
}

TEST(StatusPage, ShowsTheModelsOfTheRepository) {
  ServerMetrics metrics;
  metrics.setModels([] {
    ModelStatistics made;
    made.name = "simple";
    made.version = "3";
    made.pending = 4;
    made.success = {20, 1000};
    made.fail = {2, 1};
    made.inferenceCount = 40;
    made.executionCount = 10;
    made.queue = {20, 300};
    made.computeInput = {20, 1};
    made.computeInfer = {20, 10};
    made.computeOutput = {20, 100};
    return std::vector<ModelStatistics>{made};
  });
  StatusPage page(metrics);
  const Json status = Json::parse(page.statusJson("1", "loading"));
  EXPECT_EQ(status["engines"], Json::array());
  EXPECT_EQ(status["models"], Json::parse(R"([{
    "name": "simple", "version": "3", "pending": 4, "success": 20,
    "failure": 2, "inferences": 40, "executions": 10, "request_ns": 1000,
    "queue_ns": 300, "compute_ns": 111}])"));
}

TEST(StatusPage, LoadsNothingFromElsewhere) {
  const std::string page(statusPageHtml);
  EXPECT_LT(page.size(), 20'000u);
  for (const char* word : {"https:", "src=", "@import", "url(", "innerHTML"})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  const size_t at = page.find("http:"); // a name that nobody fetches
  EXPECT_EQ(page.substr(at, 28), "http://www.w3.org/2000/svg\";");
  EXPECT_EQ(page.find("http:", at + 1), std::string::npos);
  EXPECT_EQ(page.find("style="), std::string::npos) << "the policy forbids it";
}

} // namespace
} // namespace reciperun::server
