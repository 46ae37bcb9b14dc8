// Credentials from services, which the server of the tests plays.

#include "test/runtime/storage/S3Server.h"
#include "test/runtime/storage/TestEnvironment.h"

namespace reciperun::storage {
namespace {

class S3CredentialsTest : public testing::Test {
protected:
  S3CredentialsTest() {
    environment["AWS_ENDPOINT_URL"] = endpoint;
    environment["AWS_EC2_METADATA_DISABLED"] = "true";
  }

  /// A store with the credentials of the test's environment.
  Expected<std::unique_ptr<S3Store>> store() {
    const auto profiles = Profiles::read(environment.get());
    RECIPERUN_TRY(profiles);
    const auto settings = readSettings(environment.get(), *profiles);
    RECIPERUN_TRY(settings);
    auto source =
        findCredentials(environment.get(), *profiles, *settings, *http);
    RECIPERUN_TRY(source);
    name = source->name;
    return std::make_unique<S3Store>(
        std::make_shared<S3Client>(*settings, *source, http),
        Address{"bucket", "credentials"});
  }
  /// Writes an object; the failure's message, empty if there is none.
  std::string write() {
    const auto opened = store();
    return opened ? (*opened)->put("a", "1").message() : opened.message();
  }

  const std::string endpoint = *processEnvironment("AWS_ENDPOINT_URL");
  TestEnvironment environment;
  std::shared_ptr<HttpClient> http = std::make_shared<HttpClient>();
  std::string name;
};

TEST_F(S3CredentialsTest, OfAWebIdentity) {
  environment["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  environment["AWS_WEB_IDENTITY_TOKEN_FILE"] =
      environment.write("token", "web-identity-token\n");
  EXPECT_EQ(write(), "");
  EXPECT_EQ(name, "the web identity of the environment");
  environment.write("token", "another-token");
  EXPECT_EQ(write(), "AWS STS answers 400 (InvalidIdentityToken) to "
                     "AssumeRoleWithWebIdentity");
}

TEST_F(S3CredentialsTest, OfAProfilesRoles) {
  const std::string token = environment.write("token", "web-identity-token");
  environment.write(".aws/config",
                    "[profile web]\nrole_arn = arn:r\n"
                    "web_identity_token_file = " +
                        token +
                        "\n"
                        "[profile assumed]\nrole_arn = arn:s\n"
                        "external_id = x\nsource_profile = web\n");
  environment["AWS_PROFILE"] = "web";
  EXPECT_EQ(write(), "");
  environment["AWS_PROFILE"] = "assumed";
  EXPECT_EQ(write(), "");
}

TEST_F(S3CredentialsTest, OfAContainer) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = endpoint + "/credentials";
  environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] =
      environment.write("agent", "agent-token\n");
  EXPECT_EQ(write(), "");
  EXPECT_EQ(name, "the container");
  environment.write("agent", "another-token");
  EXPECT_EQ(write(), "the credentials of the container: `" + endpoint +
                         "/credentials` answers 403");
}

TEST_F(S3CredentialsTest, OfAnInstance) {
  environment["AWS_EC2_METADATA_DISABLED"] = "";
  environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = endpoint;
  environment["AWS_METADATA_SERVICE_TIMEOUT"] = "20";
  EXPECT_EQ(write(), "");
  EXPECT_EQ(name, "the instance's role");
  environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:1";
  EXPECT_EQ(write().substr(0, 89),
            "no credentials for object stores in the environment, in the files "
            "of ~/.aws, from a conta");
}

TEST_F(S3CredentialsTest, AreFetchedAgainWhenTheStoreSaysSo) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = endpoint + "/credentials";
  environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "agent-token";
  const auto opened = store();
  ASSERT_TRUE(opened && (*opened)->put("a", "1"));
  setFaults(R"([{"kind": "error", "status": 400, "code": "ExpiredToken"}])");
  const int before = requestsWith("\"target\": \"/credentials\"");
  EXPECT_TRUE((*opened)->put("a", "2"));
  EXPECT_EQ(requestsWith("\"target\": \"/credentials\""), before + 1);
  setFaults(R"([{"kind": "error", "status": 400, "code": "ExpiredToken",
                 "match": "/bucket/", "count": 2}])");
  EXPECT_EQ((*opened)->put("a", "3").message(),
            "cannot write `s3://bucket/credentials/a`: the keys of the "
            "container have expired; get new ones: 400 ExpiredToken "
            "(ExpiredToken)");
}

} // namespace
} // namespace reciperun::storage
