// Known answers: "Signature Calculations for the Authorization Header:
// Transferring Payload in a Single Chunk", Amazon S3 API Reference, examples
// with the keys of the documentation.

#include "runtime/storage/Signature.h"
#include "runtime/storage/Digests.h"

#include <gtest/gtest.h>

namespace reciperun::storage {
namespace {

constexpr std::time_t time20130524 = 1369353600;

const SigningKey key = {"AKIAIOSFODNN7EXAMPLE",
                        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1",
                        "s3"};

/// Signs a request to the documentation's bucket.
std::string signatureOf(RequestHead request, const std::string& payload = "") {
  request.host = "examplebucket.s3.amazonaws.com";
  const std::string hash = sha256Hex(payload);
  request.headers.emplace_back("x-amz-content-sha256", hash);
  request.headers.emplace_back("x-amz-date", amzDate(time20130524));
  return authorization(request, hash, key, time20130524);
}

std::string expected(const std::string& names, const std::string& signature) {
  return "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/"
         "s3/aws4_request,SignedHeaders=" +
         names + ",Signature=" + signature;
}

TEST(Signature, OfGetWithRange) {
  EXPECT_EQ(
      signatureOf({"GET", "", "/test.txt", {}, {{"range", "bytes=0-9"}}}),
      expected(
          "host;range;x-amz-content-sha256;x-amz-date",
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST(Signature, OfPutWithSpecialCharacters) {
  EXPECT_EQ(
      signatureOf({"PUT",
                   "",
                   encodePath("/test$file.text"),
                   {},
                   {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                    {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}},
                  "Welcome to Amazon S3."),
      expected(
          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(Signature, OfQueryWithoutValue) {
  EXPECT_EQ(
      signatureOf({"GET", "", "/", {{"lifecycle", ""}}, {}}),
      expected(
          "host;x-amz-content-sha256;x-amz-date",
          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(Signature, OfQueryInAnyOrder) {
  EXPECT_EQ(
      signatureOf({"GET", "", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}}),
      expected(
          "host;x-amz-content-sha256;x-amz-date",
          "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(Signature, EncodesAllButUnreservedCharacters) {
  EXPECT_EQ(encodePath("a b/+&=?#%~-._\xc3\xa9"),
            "a%20b/%2B%26%3D%3F%23%25~-._%C3%A9");
  EXPECT_EQ(encodeText("a/b"), "a%2Fb");
  EXPECT_EQ(encodeQuery({{"b", "1 2"}, {"a", ""}, {"a-", "x"}}),
            "a=&a-=x&b=1%202");
}

TEST(Signature, WritesTheTimeInUtc) {
  EXPECT_EQ(amzDate(time20130524), "20130524T000000Z");
}

} // namespace
} // namespace reciperun::storage
