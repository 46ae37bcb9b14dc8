// Sources that need no service. S3CredentialsTest.cpp has the others.

#include "runtime/storage/Credentials.h"

#include "test/runtime/storage/TestEnvironment.h"

namespace reciperun::storage {
namespace {

class StorageCredentials : public testing::Test {
protected:
  StorageCredentials() { environment["AWS_EC2_METADATA_DISABLED"] = "true"; }

  Expected<CredentialSource> source() {
    const auto profiles = Profiles::read(environment.get());
    RECIPERUN_TRY(profiles);
    const auto settings = readSettings(environment.get(), *profiles);
    RECIPERUN_TRY(settings);
    return findCredentials(environment.get(), *profiles, *settings, http);
  }
  Expected<Credentials> credentials() {
    const auto found = source();
    RECIPERUN_TRY(found);
    return found->fetch();
  }

  TestEnvironment environment;
  HttpClient http;
};

TEST_F(StorageCredentials, OfTheEnvironmentComeFirst) {
  environment.write(".aws/credentials",
                    "[default]\naws_access_key_id = file\n"
                    "aws_secret_access_key = file-secret\n");
  environment["AWS_ACCESS_KEY_ID"] = "variable";
  environment["AWS_SECRET_ACCESS_KEY"] = "variable-secret";
  environment["AWS_SESSION_TOKEN"] = "token";
  EXPECT_EQ(source()->name, "the environment");
  const auto found = credentials();
  EXPECT_EQ(found->accessKey, "variable");
  EXPECT_EQ(found->secretKey, "variable-secret");
  EXPECT_EQ(found->sessionToken, "token");
}

TEST_F(StorageCredentials, OfAProfile) {
  environment.write(".aws/credentials",
                    "[default]\naws_access_key_id = d\n"
                    "aws_secret_access_key = ds\n"
                    "[other]\naws_access_key_id = o\n"
                    "aws_secret_access_key = os\naws_session_token = ot\n");
  EXPECT_EQ(credentials()->accessKey, "d");
  environment["AWS_PROFILE"] = "other";
  EXPECT_EQ(source()->name, "profile `other`");
  EXPECT_EQ(credentials()->sessionToken, "ot");
}

TEST_F(StorageCredentials, OfAProcess) {
  const std::string script = environment.write(
      "give", "echo '{\"Version\": 1, \"AccessKeyId\": \"p\", "
              "\"SecretAccessKey\": \"ps\", \"SessionToken\": \"pt\", "
              "\"Expiration\": \"2013-05-24T00:00:00Z\"}'\n");
  environment.write(".aws/config",
                    "[default]\ncredential_process = sh " + script + "\n");
  const auto found = credentials();
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(found->accessKey, "p");
  EXPECT_EQ(found->sessionToken, "pt");
  EXPECT_EQ(found->expires, 1369353600);
}

TEST_F(StorageCredentials, MessagesHaveNoOutputOfAProcess) {
  const std::string script =
      environment.write("give", "echo secret-output; exit 3\n");
  environment.write(".aws/config",
                    "[default]\ncredential_process = sh " + script + " key\n");
  EXPECT_EQ(credentials().message(),
            "the `credential_process` `sh` ends with exit code 3");
}

TEST_F(StorageCredentials, HalfOfAPairIsAFault) {
  environment["AWS_ACCESS_KEY_ID"] = "variable";
  EXPECT_EQ(source().message(), "the environment has AWS_ACCESS_KEY_ID but not "
                                "AWS_SECRET_ACCESS_KEY; set both or none");
  environment["AWS_ACCESS_KEY_ID"] = "";
  environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  EXPECT_EQ(source().message(),
            "the environment has AWS_WEB_IDENTITY_TOKEN_FILE but not "
            "AWS_ROLE_ARN; set the role to take on");
  environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "";
  environment.write(".aws/credentials",
                    "[default]\naws_secret_access_key = s\n");
  EXPECT_EQ(source().message(),
            "profile `default` has only one of `aws_access_key_id` and "
            "`aws_secret_access_key`; write both");
}

TEST_F(StorageCredentials, RolesNeedASource) {
  environment.write(".aws/config", "[default]\nrole_arn = arn:a\n");
  EXPECT_NE(source().message().find("without `web_identity_token_file`"),
            std::string::npos);
  environment.write(".aws/config",
                    "[default]\nrole_arn = arn:a\nsource_profile = none\n");
  EXPECT_EQ(source().message(), "profile `default` has the `source_profile` "
                                "`none`, which does not exist");
  environment.write(
      ".aws/config",
      "[default]\nrole_arn = arn:a\nsource_profile = b\n"
      "[profile b]\nrole_arn = arn:b\nsource_profile = default\n");
  EXPECT_NE(source().message().find("has no credentials"), std::string::npos);
}

TEST_F(StorageCredentials, ReportsSingleSignOn) {
  environment.write(".aws/config", "[default]\nsso_session = s\n");
  EXPECT_NE(source().message().find("aws configure export-credentials"),
            std::string::npos);
}

TEST_F(StorageCredentials, AreSentToTheOwnHostOnlyWithoutTls) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://example.com/c";
  EXPECT_NE(source().message().find("only fetched over `https`"),
            std::string::npos);
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1.com/c";
  EXPECT_FALSE(source());
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1/c";
  EXPECT_EQ(source()->name, "the container");
}

TEST_F(StorageCredentials, SaysHowToGiveThem) {
  EXPECT_EQ(source().message(),
            "no credentials for object stores: set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or write a profile with `aws configure`");
}

TEST(CredentialCache, FetchesBeforeTheyExpire) {
  int fetches = 0;
  CredentialCache cache(
      {"a test", [&]() -> Expected<Credentials> {
         ++fetches;
         return Credentials{std::to_string(fetches), "s", "t", 1000 * fetches};
       }});
  EXPECT_EQ(cache.get(0)->accessKey, "1");
  EXPECT_EQ(cache.get(699)->accessKey, "1");
  EXPECT_EQ(cache.get(700)->accessKey, "2");
  cache.drop("1");
  EXPECT_EQ(cache.get(700)->accessKey, "2");
  cache.drop("2");
  EXPECT_EQ(cache.get(700)->accessKey, "3");
}

TEST(CredentialCache, KeepsThemWhileFetchingFails) {
  bool fails = false;
  CredentialCache cache({"a test", [&]() -> Expected<Credentials> {
                           if (fails)
                             return Status::error("no answer");
                           return Credentials{"a", "s", "t", 1000};
                         }});
  EXPECT_TRUE(cache.get(0));
  fails = true;
  EXPECT_EQ(cache.get(900)->accessKey, "a");
  EXPECT_EQ(cache.get(1000).message(), "no answer");
}

} // namespace
} // namespace reciperun::storage
