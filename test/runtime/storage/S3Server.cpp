// See S3Server.h.

#include "test/runtime/storage/S3Server.h"

namespace reciperun::storage {
namespace {

HttpAnswer askControl(const std::string& path, const std::string& body) {
  HttpClient http;
  HttpRequest request;
  request.method = body.empty() ? "GET" : "POST";
  request.url = processEnvironment("S3_CONTROL").value_or("") + path;
  request.body = std::as_bytes(std::span(body));
  HttpAnswer answer = http.send(request);
  EXPECT_TRUE(answer.isSuccess()) << answer.failure;
  return answer;
}

Address ownPrefix() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return {"bucket", std::string(test->test_suite_name()) + "/" + test->name()};
}

} // namespace

Settings quickSettings() {
  const auto profiles = Profiles::read(processEnvironment);
  auto settings = readSettings(processEnvironment, *profiles);
  EXPECT_TRUE(settings) << settings.message();
  settings->backoffSeconds = 0.001;
  settings->attempts = 4;
  settings->partBytes = int64_t(5) << 20;
  return *settings;
}

std::shared_ptr<S3Client> clientWith(const Settings& settings) {
  const auto profiles = Profiles::read(processEnvironment);
  const auto http = std::make_shared<HttpClient>();
  const auto source =
      findCredentials(processEnvironment, *profiles, settings, *http);
  EXPECT_TRUE(source) << source.message();
  return std::make_shared<S3Client>(settings, *source, http);
}

void setFaults(const std::string& faults) {
  askControl("/faults", faults);
}

void setClock(int seconds) {
  askControl("/clock", std::to_string(seconds));
}

void setPage(int keys) {
  askControl("/page", std::to_string(keys));
}

int requestsWith(const std::string& text) {
  const std::string log = askControl("/log", "").body;
  int count = 0;
  for (size_t at = log.find(text); at != log.npos; at = log.find(text, at + 1))
    ++count;
  return count;
}

S3Test::S3Test()
    : client(clientWith(quickSettings())), store(client, ownPrefix()) {}

S3Test::~S3Test() {
  setFaults("[]");
}

std::string patternOf(size_t bytes) {
  std::string text(bytes, '\0');
  uint32_t value = 1;
  for (char& c : text) {
    value = value * 1664525 + 1013904223;
    c = char(value >> 24);
  }
  return text;
}

} // namespace reciperun::storage
