// Files of API keys, and the limits of their clients.

#include "runtime/server/access/ApiKeys.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <stdlib.h>

using namespace reciperun;
using namespace reciperun::server;

namespace {

// The SHA-256 hashes of `a`, `b` and `c`, as sha256sum prints them.
const std::string hashA =
    "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
const std::string hashB =
    "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";
const std::string hashC =
    "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6";

std::string refusalOf(const std::string& text) {
  return readApiKeys(text).message();
}

ApiClient::Time at(double seconds) {
  return ApiClient::Time(std::chrono::milliseconds(int64_t(seconds * 1000)));
}

/// A file of keys in a folder of its own.
class ApiKeyFile : public testing::Test {
protected:
  void SetUp() override {
    std::string name =
        (std::filesystem::temp_directory_path() / "keysXXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder / "keys.txt";
  }
  ~ApiKeyFile() override { std::filesystem::remove_all(folder); }

  void write(const std::string& text) const { std::ofstream(path) << text; }

  std::filesystem::path folder;
  std::string path;
};

} // namespace

TEST(ApiKeys, AreReadWithNamesAndLimits) {
  const auto keys = readApiKeys(
      "# comment\n\n" + hashA +
      " requests=2 name=a.b@c tokens-per-minute=30\r\n  " + hashB + "  -\n");
  EXPECT_FALSE(keys) << "sha256sum's own `-` is no word";
  const auto read = readApiKeys("# comment\n\n" + hashA +
                                " requests=2 name=a.b@c "
                                "tokens-per-minute=30\r\n  " +
                                hashB);
  ASSERT_TRUE(read) << read.message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->front().name, "a.b@c");
  EXPECT_EQ(read->front().limits, (ClientLimits{2, 30}));
  EXPECT_EQ(read->back().name, "key-4");
  EXPECT_EQ(read->back().limits, ClientLimits());
  EXPECT_TRUE(isSame(read->back().digest, sha256("b")));
}

TEST(ApiKeys, NameTheLineOfAMistakeButNoneOfItsWords) {
  const std::string secret = "sk-secret";
  for (const auto& [text, words] :
       std::vector<std::pair<std::string, std::string>>{
           {secret, "line 1: the first word is no SHA-256 hash"},
           {hashA.substr(1), "64 hexadecimal digits"},
           {hashA.substr(1) + "g", "64 hexadecimal digits"},
           {"\n" + hashA + " " + secret, "line 2: a hash is followed by"},
           {hashA + " name=" + secret + "!", "`name` takes up to 64"},
           {hashA + " name=", "`name` takes up to 64"},
           {hashA + " requests=0", "`requests` takes a whole number from 1"},
           {hashA + " requests=2x", "`requests` takes"},
           {hashA + " tokens-per-minute=-1", "`tokens-per-minute` takes"},
           {hashA + "\n" + hashA, "line 2: the key is there twice"},
           {hashA + " name=x\n" + hashB + " name=x requests=1",
            "`x` has other limits in a line before"}}) {
    EXPECT_NE(refusalOf(text).find(words), std::string::npos)
        << refusalOf(text);
    EXPECT_EQ(refusalOf(text).find(secret), std::string::npos);
  }
}

TEST_F(ApiKeyFile, FindsClientsByKeysAlone) {
  write(hashA + " name=x\n" + hashB + " name=x\n");
  const auto keys = ApiKeys::open({"c"}, path);
  ASSERT_TRUE(keys) << keys.message();
  EXPECT_TRUE(keys->areNeeded());
  ASSERT_TRUE(keys->find("a"));
  EXPECT_EQ(keys->find("a"), keys->find("b")) << "one name is one client";
  EXPECT_EQ(keys->find("c")->name(), "api-key-1");
  for (const std::string& wrong :
       {std::string(), std::string("d"), std::string("aa"), hashA, hashC})
    EXPECT_FALSE(keys->find(wrong)) << wrong;
  EXPECT_FALSE(ApiKeys::open({}, "")->areNeeded());
  EXPECT_FALSE(ApiKeys::open({}, folder / "none"));
}

TEST_F(ApiKeyFile, KeepsClientsWhenItChanges) {
  write(hashA + " name=x requests=1\n" + hashB + "\n");
  auto keys = ApiKeys::open({}, path);
  ASSERT_TRUE(keys) << keys.message();
  const auto client = keys->find("a");
  EXPECT_FALSE(client->begin(at(0)));
  write(hashC + " name=x requests=2\n");
  ASSERT_TRUE(keys->reload().isOk());
  EXPECT_FALSE(keys->find("a"));
  EXPECT_FALSE(keys->find("b"));
  EXPECT_EQ(keys->find("c"), client);
  EXPECT_FALSE(client->begin(at(0))) << "one more than before";
  EXPECT_TRUE(client->begin(at(0))) << "the open request is still counted";
  for (const char* bad : {"", "oops\n"}) {
    write(bad);
    EXPECT_FALSE(keys->reload().isOk());
    EXPECT_EQ(keys->find("c"), client) << "the keys before";
  }
}

TEST(ApiClient, CountsOpenRequests) {
  ApiClient client("a", {.requests = 2});
  EXPECT_FALSE(client.begin(at(0)));
  EXPECT_FALSE(client.begin(at(0)));
  const auto refusal = client.begin(at(0));
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message.find("2 requests in progress, of at most 2"),
            std::string::npos);
  client.end(0, at(0));
  EXPECT_FALSE(client.begin(at(0)));
}

TEST(ApiClient, RefillsTokensOverAMinute) {
  ApiClient client("a", {.tokensPerMinute = 60});
  EXPECT_FALSE(client.begin(at(0)));
  client.end(59, at(0));
  EXPECT_FALSE(client.begin(at(0))) << "one token is left";
  client.end(11, at(0));
  const auto refusal = client.begin(at(0));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->retryAfter, 11) << "a token a second";
  EXPECT_TRUE(client.begin(at(9.9)));
  EXPECT_FALSE(client.begin(at(11)));
  client.end(0, at(11));
  EXPECT_FALSE(client.begin(at(1000)));
  client.end(60, at(1000));
  EXPECT_TRUE(client.begin(at(1000))) << "a pause saves no more than a minute";
}

TEST(ApiClient, TakesOtherLimits) {
  ApiClient client("a", {.tokensPerMinute = 60});
  EXPECT_FALSE(client.begin(at(0)));
  client.end(60, at(0));
  client.setLimits({.tokensPerMinute = 100}, at(0));
  EXPECT_FALSE(client.begin(at(0)));
  client.end(40, at(0));
  EXPECT_TRUE(client.begin(at(0)));
  client.setLimits({}, at(0));
  EXPECT_FALSE(client.begin(at(0)));
}
