#include "runtime/storage/Address.h"

#include <gtest/gtest.h>

namespace reciperun::storage {
namespace {

std::string faultIn(const std::string& text) {
  return parseAddress(text).message();
}

TEST(Address, HasBucketAndKey) {
  const auto address = parseAddress("s3://my-bucket.1/runs/a b/step-1");
  ASSERT_TRUE(address) << address.message();
  EXPECT_EQ(address->bucket, "my-bucket.1");
  EXPECT_EQ(address->key, "runs/a b/step-1");
  EXPECT_EQ(address->text(), "s3://my-bucket.1/runs/a b/step-1");
}

TEST(Address, IgnoresSlashesAtTheEnd) {
  EXPECT_EQ(parseAddress("s3://bucket//")->text(), "s3://bucket");
  EXPECT_EQ(parseAddress("s3://bucket/a/")->text(), "s3://bucket/a");
}

TEST(Address, JoinsNames) {
  EXPECT_EQ((Address{"b", ""} / "a").text(), "s3://b/a");
  EXPECT_EQ((Address{"b", "a"} / "c/d").text(), "s3://b/a/c/d");
  EXPECT_EQ((Address{"b", "a"} / "").text(), "s3://b/a");
}

TEST(Address, IsToldFromPaths) {
  EXPECT_TRUE(isAddress("s3://bucket/a"));
  EXPECT_TRUE(isAddress("s3:/bucket/a"));
  EXPECT_FALSE(isAddress("/data/s3://bucket"));
  EXPECT_FALSE(isAddress("s3"));
}

TEST(Address, NamesWhatIsWrong) {
  EXPECT_EQ(faultIn("gs://bucket/a"),
            "`gs://bucket/a` is no address of an object: its scheme is `gs`; "
            "write `s3://BUCKET/KEY`");
  EXPECT_EQ(faultIn("s3:/bucket/a"),
            "`s3:/bucket/a` is no address of an object: it does not begin with "
            "`s3://`; write `s3://BUCKET/KEY`");
  EXPECT_EQ(faultIn("s3:///a"),
            "`s3:///a` is no address of an object: the name of the bucket is "
            "missing; write `s3://BUCKET/KEY`");
  EXPECT_EQ(faultIn("s3://Data/a"),
            "`s3://Data/a` is no address of an object: the bucket's name "
            "`Data` has the character `D`, and only lower-case letters, "
            "digits, hyphens and dots are allowed; write `s3://BUCKET/KEY`");
  EXPECT_NE(faultIn("s3://ab/a").find("has 2 characters"), std::string::npos);
  EXPECT_NE(faultIn("s3://-abc").find("must begin and end"), std::string::npos);
  EXPECT_NE(faultIn("s3://a..b").find("two dots"), std::string::npos);
  EXPECT_NE(faultIn("s3://abc/x//y").find("between two slashes"),
            std::string::npos);
  EXPECT_NE(faultIn("s3://abc/x/../y").find("`..` is no name"),
            std::string::npos);
  EXPECT_NE(faultIn("s3://abc/x\ny").find("control character"),
            std::string::npos);
  EXPECT_NE(faultIn("s3://abc/" + std::string(1025, 'k')).find("1025 bytes"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::storage
