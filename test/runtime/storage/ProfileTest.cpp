#include "runtime/storage/Profile.h"

#include "test/runtime/storage/TestEnvironment.h"

namespace reciperun::storage {
namespace {

TEST(Profile, HasSectionsSettingsAndBlocks) {
  const auto file = parseProfiles("# comment\r\n[default]\nregion = eu-west-1\n"
                                  "s3 =\n  addressing_style = path ; why\n"
                                  "[ profile a ]\nregion=x#y\n");
  ASSERT_TRUE(file) << file.message();
  EXPECT_EQ(file->at("default").at("region"), "eu-west-1");
  EXPECT_EQ(file->at("default").at("s3.addressing_style"), "path");
  EXPECT_EQ(file->at("profile a").at("region"), "x#y");
}

TEST(Profile, NamesTheLineThatIsWrongButNoValue) {
  EXPECT_EQ(parseProfiles("[a]\nwJalrXUtnFEMI").message(),
            "line 2 is neither a section nor a setting `name = value`");
  EXPECT_EQ(parseProfiles("a = b").message(),
            "line 1 is a setting before the first section; write `[default]` "
            "above it");
  EXPECT_EQ(parseProfiles("\n[a").message(), "line 2: a section lacks its `]`");
}

TEST(Profile, CredentialsComeBeforeConfig) {
  TestEnvironment environment;
  environment.write(".aws/config", "[profile a]\nregion = r\nkey = config\n");
  environment.write(".aws/credentials", "[a]\nkey = credentials\n");
  environment["AWS_PROFILE"] = "a";
  const auto profiles = Profiles::read(environment.get());
  ASSERT_TRUE(profiles) << profiles.message();
  EXPECT_EQ(profiles->find("key"), "credentials");
  EXPECT_EQ(profiles->find("region"), "r");
  EXPECT_EQ(profiles->find("none"), std::nullopt);
}

TEST(Profile, MustExistWhenNamed) {
  TestEnvironment environment;
  EXPECT_TRUE(Profiles::read(environment.get()));
  environment["AWS_PROFILE"] = "absent";
  EXPECT_EQ(Profiles::read(environment.get()).message(),
            "there is no profile `absent`, which AWS_PROFILE names; add it to "
            "`~/.aws/config` or `~/.aws/credentials`, or name another");
}

TEST(Profile, ReadsTheFilesThatVariablesName) {
  TestEnvironment environment;
  environment["AWS_CONFIG_FILE"] =
      environment.write("other", "[default]\nregion = r\n");
  EXPECT_EQ(Profiles::read(environment.get())->find("region"), "r");
}

} // namespace
} // namespace reciperun::storage
