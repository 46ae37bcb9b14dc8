// The steps of the gate, as a server without its handler takes them.

#include "runtime/server/access/Gate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <utility>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;
using Clock = GateVisit::Time::clock;

constexpr int64_t tokensOfKey = 60;

class GateSteps : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gateXXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    std::ofstream(folder / "keys") << sha256Of("limited")
                                   << " name=limited requests=1 "
                                      "tokens-per-minute="
                                   << tokensOfKey << "\n";
    settings.apiKeyFile = folder / "keys";
    settings.accessLog = folder / "log";
  }
  ~GateSteps() override { fs::remove_all(folder); }

  void open() {
    auto opened = Gate::open(settings);
    ASSERT_TRUE(opened) << opened.message();
    gate = *std::move(opened);
  }

  static std::string sha256Of(std::string_view text) {
    constexpr const char* digits = "0123456789abcdef";
    std::string made;
    for (const unsigned char each : sha256(text)) {
      made += digits[each / 16];
      made += digits[each % 16];
    }
    return made;
  }

  static HttpRequest requestWith(const std::string& key) {
    HttpRequest request;
    request.path = "/a";
    request.headers["authorization"] = "Bearer " + key;
    request.headers["x-request-id"] = "me-7";
    return request;
  }

  /// A visit that has passed the check of its key.
  GateVisit enter(const std::string& key = "limited") const {
    const HttpRequest request = requestWith(key);
    GateVisit visit = Gate::begin(request, Clock::now());
    EXPECT_FALSE(gate->authenticate(request, visit));
    return visit;
  }

  std::string logText() const {
    std::ifstream file(folder / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder;
  GateSettings settings;
  std::unique_ptr<Gate> gate;
};

TEST_F(GateSteps, RefuseWrongKeys) {
  open();
  const HttpRequest wrong = requestWith("other");
  GateVisit visit = Gate::begin(wrong, Clock::now());
  const auto denial = gate->authenticate(wrong, visit);
  ASSERT_TRUE(denial);
  EXPECT_EQ(denial->status, 401);
  EXPECT_EQ(denial->message, "the API key is not valid");
  GateVisit none = Gate::begin({}, Clock::now());
  EXPECT_EQ(gate->authenticate({}, none)->message,
            "the request has no API key; send it as `authorization: Bearer "
            "KEY`");
}

TEST_F(GateSteps, CountTheRequestsOfAKeyUntilTheyEnd) {
  open();
  GateVisit first = enter(), second = enter();
  EXPECT_FALSE(gate->limit(first));
  const auto denial = gate->limit(second);
  ASSERT_TRUE(denial);
  EXPECT_EQ(denial->status, 429);
  EXPECT_EQ(denial->message,
            "this API key has 1 requests in progress, of at most 1");
  EXPECT_EQ(denial->retryAfter, 1);
  gate->end(second); // which was not counted
  GateVisit third = enter();
  EXPECT_TRUE(gate->limit(third));
  gate->end(first);
  EXPECT_FALSE(gate->limit(third));
  gate->end(third);
}

TEST_F(GateSteps, TakeTheTokensOfARequestWhenItEnds) {
  open();
  GateVisit first = enter(), second = enter();
  EXPECT_FALSE(gate->limit(first));
  first.record.promptTokens = tokensOfKey;
  first.record.answerTokens = tokensOfKey;
  gate->end(first);
  const auto denial = gate->limit(second);
  ASSERT_TRUE(denial);
  EXPECT_EQ(denial->status, 429);
  EXPECT_EQ(denial->message, "this API key has used its 60 tokens per minute");
  EXPECT_GT(denial->retryAfter, 1);
}

TEST_F(GateSteps, CountTheRequestsOfTheServer) {
  settings.apiKeyFile.clear();
  settings.mostRequests = 1;
  open();
  GateVisit first = enter(), second = enter();
  EXPECT_FALSE(gate->limit(first));
  EXPECT_EQ(gate->limit(second)->status, 503);
  gate->end(first);
  EXPECT_FALSE(gate->limit(second));
}

TEST_F(GateSteps, WriteALineWhenAVisitEnds) {
  open();
  GateVisit visit = enter();
  visit.record.grpcStatus = 8;
  EXPECT_EQ(logText(), "");
  gate->end(visit);
  const std::string line = logText();
  EXPECT_NE(line.find(R"("id":"me-7","client":"","method":"","path":"/a",)"
                      R"("grpc_status":8,"bytes_in":0)"),
            std::string::npos)
      << line;
  EXPECT_NE(line.find(R"("key":"limited"})"), std::string::npos) << line;
}

} // namespace
} // namespace reciperun::server
