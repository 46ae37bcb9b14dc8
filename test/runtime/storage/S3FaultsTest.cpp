// A store that fails, and what is left of it.

#include "test/runtime/storage/S3Server.h"

#include "runtime/base/Crc32c.h"

#include <chrono>

namespace reciperun::storage {
namespace {

class S3FaultsTest : public S3Test {
protected:
  /// Reads the whole object `a`.
  Expected<std::string> readAll(const Object& object) {
    std::string out(size_t(object.bytes), ' ');
    RECIPERUN_TRY(
        store.read(object, 0, std::as_writable_bytes(std::span(out))));
    return out;
  }
  static const std::string data; // of three parts
};

const std::string S3FaultsTest::data = patternOf(size_t(11) << 20);

std::string errors(int status, const std::string& code, int count) {
  return "[{\"kind\": \"error\", \"status\": " + std::to_string(status) +
         ", \"code\": \"" + code + "\", \"count\": " + std::to_string(count) +
         "}]";
}

TEST_F(S3FaultsTest, SendsAgainAfterFailuresThatPass) {
  setFaults(errors(503, "SlowDown", 3));
  EXPECT_TRUE(store.put("a", "1"));
  setFaults(errors(500, "InternalError", 3));
  EXPECT_EQ(*store.readText("a", 100, nullptr), "1");
  setFaults(R"([{"kind": "reset", "count": 3}])");
  EXPECT_TRUE(store.put("a", "2"));
  setFaults(R"([{"kind": "reset", "count": 2}])");
  EXPECT_EQ(*store.readText("a", 100, nullptr), "2");
  setFaults(errors(409, "ConditionalRequestConflict", 2));
  EXPECT_TRUE(store.put("b", "1", Precondition::absent()));
}

TEST_F(S3FaultsTest, ReportsFailuresThatStay) {
  setFaults(errors(503, "SlowDown", 4));
  const auto put = store.put("a", "1");
  EXPECT_EQ(put.status().code(), StatusCode::unavailable);
  EXPECT_EQ(put.message(), "cannot write `" + store.textOf("a") +
                               "`: the store `" + client->settings().endpoint +
                               "` answers 503 SlowDown (SlowDown), 4 times");
  setFaults(R"([{"kind": "reset", "count": 99}])");
  const auto read = store.readText("a", 100, nullptr);
  EXPECT_EQ(read.status().code(), StatusCode::unavailable);
  EXPECT_NE(read.message().find("` fails: "), std::string::npos)
      << read.message();
}

// A bucket has many runs: the message has the folder, although the request is
// one to the bucket.
TEST_F(S3FaultsTest, NamesTheFolderOfAList) {
  setFaults(errors(403, "AccessDenied", 1));
  const std::string message = store.list("folder").status().message();
  EXPECT_TRUE(message.starts_with("cannot list `" + store.textOf("folder") +
                                  "`: the store denies access"))
      << message;
}

TEST_F(S3FaultsTest, DoesNotRepeatWhatIsRefused) {
  const int before = requestsWith("DoesNotRepeatWhatIsRefused/a");
  setFaults(errors(403, "AccessDenied", 1));
  const auto put = store.put("a", "1");
  EXPECT_EQ(put.message(),
            "cannot write `" + store.textOf("a") +
                "`: the store denies access; the keys of the environment need "
                "the permission s3:PutObject: 403 AccessDenied (AccessDenied)");
  EXPECT_EQ(requestsWith("DoesNotRepeatWhatIsRefused/a"), before + 1);
}

TEST_F(S3FaultsTest, GoesOnWhereABodyBrokeOff) {
  const auto object = store.put("a", std::string_view(data).substr(0, 5 << 20));
  ASSERT_TRUE(object) << object.message();
  // Each cut sends half of the rest: more cuts than attempts.
  setFaults(R"([{"kind": "cut", "method": "GET", "count": 7}])");
  const auto read = readAll(*object);
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(*read, data.substr(0, 5 << 20));
}

TEST_F(S3FaultsTest, DoesNotTakeItsOwnWriteForAnothers) {
  setFaults(R"([{"kind": "forget", "method": "PUT"}])");
  const auto small = store.put("a", "1", Precondition::absent());
  ASSERT_TRUE(small) << small.message();
  setFaults(R"([{"kind": "forget", "method": "POST", "match": "uploadId="}])");
  const auto large = store.put("b", data, Precondition::absent());
  ASSERT_TRUE(large) << large.message();
  EXPECT_EQ(large->bytes, int64_t(data.size()));
  ASSERT_TRUE(store.put("c", "other"));
  setFaults(R"([{"kind": "reset", "method": "PUT"}])");
  EXPECT_EQ(store.put("c", "1", Precondition::absent()).status().code(),
            StatusCode::alreadyExists);
}

TEST_F(S3FaultsTest, FindsDamageOnTheWay) {
  const auto object = store.put("a", data);
  ASSERT_TRUE(object) << object.message();
  setFaults(R"([{"kind": "damage", "method": "GET"}])");
  const auto once = readAll(*object);
  ASSERT_TRUE(once) << once.message();
  EXPECT_EQ(*once, data);
  setFaults(R"([{"kind": "damage", "method": "GET", "count": 9}])");
  EXPECT_EQ(readAll(*object).message(),
            "cannot read `" + store.textOf("a") +
                "`: its bytes do not match its checksum, 3 times");
  ASSERT_TRUE(store.put("text", "1"));
  setFaults(R"([{"kind": "damage", "method": "GET"}])");
  EXPECT_EQ(*store.readText("text", 100, nullptr), "1");
}

TEST_F(S3FaultsTest, SeesThroughAWrongEtag) {
  setFaults(R"([{"kind": "etag", "method": "PUT"}])");
  const auto small = store.put("a", "1");
  ASSERT_TRUE(small) << small.message();
  EXPECT_EQ(small->etag, (*store.find("a"))->etag);
  // The list of parts has the true ones.
  setFaults(R"([{"kind": "etag", "method": "PUT", "count": 2}])");
  const auto large = store.put("b", data);
  ASSERT_TRUE(large) << large.message();
  setFaults(R"([{"kind": "etag", "method": "GET", "count": 2}])");
  EXPECT_EQ(*readAll(*large), data);
}

TEST_F(S3FaultsTest, DoesNotMixTwoObjects) {
  const auto object = store.put("a", "0123456789");
  ASSERT_TRUE(store.put("a", "9876543210"));
  const auto read = readAll(*object);
  EXPECT_EQ(read.status().code(), StatusCode::alreadyExists);
  EXPECT_EQ(read.message(), "cannot read `" + store.textOf("a") +
                                "`: it has been replaced meanwhile");
}

TEST_F(S3FaultsTest, AdoptsTheClockOfTheStore) {
  setClock(3600);
  ASSERT_TRUE(store.put("a", "1"));
  const int skewed = requestsWith("\"status\": 403");
  ASSERT_TRUE(store.put("a", "2"));
  EXPECT_EQ(requestsWith("\"status\": 403"), skewed);
  setClock(-3600);
  EXPECT_TRUE(*store.find("a")); // the answer to HEAD names no code
  EXPECT_EQ(requestsWith("\"status\": 403"), skewed + 1);
  setClock(0);
  EXPECT_TRUE(store.put("a", "3"));
}

TEST_F(S3FaultsTest, GivesUpOnAStoreThatStalls) {
  ASSERT_TRUE(store.put("a", "0123456789"));
  Settings settings = quickSettings();
  settings.stallSeconds = 1;
  S3Store impatient(clientWith(settings),
                    {"bucket", "S3FaultsTest/GivesUpOnAStoreThatStalls"});
  const auto begin = std::chrono::steady_clock::now();
  setFaults(R"([{"kind": "stall", "seconds": 20}])");
  EXPECT_EQ(*impatient.readText("a", 100, nullptr), "0123456789");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST_F(S3FaultsTest, CompletesAnUploadThatFailsLate) {
  setFaults(R"([{"kind": "late", "count": 2}])");
  const auto object = store.put("a", data, Precondition::absent());
  ASSERT_TRUE(object) << object.message();
  EXPECT_EQ(*readAll(*object), data);
}

TEST_F(S3FaultsTest, SendsAllPartsAgainAfterAConflict) {
  setFaults(
      R"([{"kind": "conflict", "method": "POST", "match": "uploadId="}])");
  const auto object = store.put("a", data, Precondition::absent());
  ASSERT_TRUE(object) << object.message();
  EXPECT_EQ(*readAll(*object), data);
}

TEST_F(S3FaultsTest, DiscardsThePartsOfAFailedUpload) {
  setFaults(R"([{"kind": "error", "status": 403, "code": "AccessDenied",
                 "match": "partNumber=2"}])");
  EXPECT_FALSE(store.put("a", data));
  EXPECT_FALSE(*store.find("a"));
  EXPECT_TRUE(store.openUploads("")->empty());
}

TEST_F(S3FaultsTest, AnswersTellNoCredentials) {
  setFaults("[{\"kind\": \"error\", \"status\": 403, \"code\": \"Odd\", "
            "\"message\": \"key " +
            *processEnvironment("AWS_ACCESS_KEY_ID") + " secret " +
            *processEnvironment("AWS_SECRET_ACCESS_KEY") + "\"}]");
  const std::string message = store.put("a", "1").message();
  EXPECT_NE(message.find("403 Odd (key *** secret ***)"), std::string::npos)
      << message;
}

TEST_F(S3FaultsTest, ExplainsKeysThatAreWrong) {
  const auto with = [](const std::string& access, const std::string& secret) {
    S3Store store(
        std::make_shared<S3Client>(
            quickSettings(),
            CredentialSource{"a test",
                             [=] {
                               return Expected<Credentials>(
                                   Credentials{access, secret, {}, {}});
                             }},
            std::make_shared<HttpClient>()),
        {"bucket", ""});
    return store.put("a", "1").message();
  };
  EXPECT_EQ(with("AKIDWRONG", "secret"),
            "cannot write `s3://bucket/a`: the store does not know the access "
            "key of a test; check the key and the endpoint: 403 "
            "InvalidAccessKeyId (The key *** does not exist in our records)");
  EXPECT_NE(with(*processEnvironment("AWS_ACCESS_KEY_ID"), "secret")
                .find("the secret key of a test does not belong to its access "
                      "key"),
            std::string::npos);
}

TEST_F(S3FaultsTest, NamesAnEndpointThatDoesNotAnswer) {
  Settings settings = quickSettings();
  settings.endpoint = "http://127.0.0.1:1";
  settings.attempts = 2;
  S3Store other(clientWith(settings), {"bucket", ""});
  const auto put = other.put("a", "1");
  EXPECT_EQ(put.status().code(), StatusCode::unavailable);
  EXPECT_NE(put.message().find("the store `http://127.0.0.1:1` fails: "),
            std::string::npos)
      << put.message();
}

} // namespace
} // namespace reciperun::storage
