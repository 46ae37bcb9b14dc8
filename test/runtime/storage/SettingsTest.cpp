#include "runtime/storage/Settings.h"

#include "test/runtime/storage/TestEnvironment.h"

namespace reciperun::storage {
namespace {

Expected<Settings> settingsOf(const TestEnvironment& environment) {
  const auto profiles = Profiles::read(environment.get());
  RECIPERUN_TRY(profiles);
  return readSettings(environment.get(), *profiles);
}

TEST(StorageSettings, AreAmazonsByDefault) {
  TestEnvironment environment;
  const auto settings = settingsOf(environment);
  ASSERT_TRUE(settings) << settings.message();
  EXPECT_EQ(settings->endpoint, "");
  EXPECT_EQ(settings->region, "us-east-1");
  EXPECT_FALSE(settings->pathStyle);
  EXPECT_TRUE(settings->checksums);
}

TEST(StorageSettings, TakeAnEndpointInPathStyle) {
  TestEnvironment environment;
  environment["AWS_ENDPOINT_URL"] = "http://localhost:9000/";
  auto settings = settingsOf(environment);
  ASSERT_TRUE(settings) << settings.message();
  EXPECT_EQ(settings->endpoint, "http://localhost:9000");
  EXPECT_EQ(settings->stsEndpoint, "http://localhost:9000");
  EXPECT_TRUE(settings->pathStyle);
  environment["AWS_ENDPOINT_URL_S3"] = "https://store.example";
  EXPECT_EQ(settingsOf(environment)->endpoint, "https://store.example");
  environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  EXPECT_EQ(settingsOf(environment)->endpoint, "");
}

TEST(StorageSettings, TakeThoseOfTheProfile) {
  TestEnvironment environment;
  environment.write(".aws/config",
                    "[default]\nregion = eu-west-1\nservices = mine\n"
                    "ca_bundle = /certificates\nmax_attempts = 3\n"
                    "s3 =\n  addressing_style = virtual\n"
                    "  max_concurrent_requests = 4\n"
                    "  multipart_chunksize = 64MB\n"
                    "[services mine]\ns3 =\n"
                    "  endpoint_url = https://store.example\n");
  const auto settings = settingsOf(environment);
  ASSERT_TRUE(settings) << settings.message();
  EXPECT_EQ(settings->endpoint, "https://store.example");
  EXPECT_EQ(settings->stsEndpoint, "");
  EXPECT_EQ(settings->region, "eu-west-1");
  EXPECT_EQ(settings->caBundle, "/certificates");
  EXPECT_EQ(settings->attempts, 3);
  EXPECT_FALSE(settings->pathStyle);
  EXPECT_EQ(settings->connections, 4);
  EXPECT_EQ(settings->partBytes, int64_t(64) << 20);
  environment["AWS_REGION"] = "eu-north-1";
  EXPECT_EQ(settingsOf(environment)->region, "eu-north-1");
}

TEST(StorageSettings, NameTheValueThatIsWrong) {
  TestEnvironment environment;
  environment["AWS_ENDPOINT_URL"] = "localhost:9000";
  EXPECT_EQ(settingsOf(environment).message(),
            "the environment variable AWS_ENDPOINT_URL is no address of a "
            "store: it needs `https://HOST` or `http://HOST:PORT`");
  environment["AWS_ENDPOINT_URL"] = "https://user:secret@host";
  const std::string message = settingsOf(environment).message();
  EXPECT_NE(message.find("has a user's name"), std::string::npos);
  EXPECT_EQ(message.find("secret@"), std::string::npos);
  environment["AWS_ENDPOINT_URL"] = "";
  environment["AWS_MAX_ATTEMPTS"] = "many";
  EXPECT_EQ(settingsOf(environment).message(),
            "the environment variable AWS_MAX_ATTEMPTS is `many`, and a number "
            "from 1 to 100 is needed");
  environment["AWS_MAX_ATTEMPTS"] = "";
  environment.write(".aws/config", "[default]\ns3 =\n  addressing_style = p\n");
  EXPECT_EQ(settingsOf(environment).message(),
            "`s3.addressing_style` of profile `default` is `p`; write `path`, "
            "`virtual` or `auto`");
}

} // namespace
} // namespace reciperun::storage
