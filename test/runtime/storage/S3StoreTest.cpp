// A store without faults.

#include "test/runtime/storage/S3Server.h"

#include "runtime/base/Crc32c.h"

#include <algorithm>

namespace reciperun::storage {
namespace {

class S3StoreTest : public S3Test {};

std::vector<std::string> namesOf(const std::vector<Object>& objects) {
  std::vector<std::string> names;
  for (const Object& object : objects)
    names.push_back(object.name);
  return names;
}

std::span<const std::byte> bytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_F(S3StoreTest, WritesReadsAndRemoves) {
  const auto written = store.put("a", "0123456789");
  ASSERT_TRUE(written) << written.message();
  const auto found = store.find("a");
  ASSERT_TRUE(found && *found) << found.message();
  EXPECT_EQ((*found)->bytes, 10);
  EXPECT_EQ((*found)->etag, written->etag);
  EXPECT_EQ((*found)->crc32c, crc32c(bytesOf("0123456789")));
  EXPECT_GT((*found)->modified, 1700000000);
  std::string out(4, ' ');
  ASSERT_TRUE(
      store.read(**found, 3, std::as_writable_bytes(std::span(out))).isOk());
  EXPECT_EQ(out, "3456");
  Object read;
  EXPECT_EQ(*store.readText("a", 100, &read), "0123456789");
  EXPECT_EQ(read.etag, written->etag);
  ASSERT_TRUE(store.remove({"a"}).isOk());
  ASSERT_TRUE(store.remove({"a"}).isOk());
  EXPECT_FALSE(*store.find("a"));
}

TEST_F(S3StoreTest, TakesNamesWithSpecialCharacters) {
  const std::vector<std::string> names = {
      "a b",          "a+b", "a%20b", "a&b=c?d", "caf\xc3\xa9/\xe6\x97\xa5",
      "~x'(y)*!@:,;$"};
  for (const std::string& name : names) {
    ASSERT_TRUE(store.put(name, name)) << name;
    EXPECT_EQ(*store.readText(name, 100, nullptr), name);
  }
  auto sorted = names;
  std::ranges::sort(sorted);
  EXPECT_EQ(namesOf(*store.listAll("")), sorted);
  ASSERT_TRUE(store.remove(names).isOk());
  EXPECT_TRUE(store.listAll("")->empty());
}

TEST_F(S3StoreTest, ListsFoldersAndPages) {
  setPage(5);
  std::vector<std::string> names;
  for (int i = 0; i < 13; ++i) {
    names.push_back("f/" + std::to_string(10 + i));
    ASSERT_TRUE(store.put(names.back(), ""));
  }
  ASSERT_TRUE(store.put("g/h/i", ""));
  ASSERT_TRUE(store.put("top", ""));
  const auto top = store.list("");
  ASSERT_TRUE(top) << top.message();
  EXPECT_EQ(namesOf(top->objects), std::vector<std::string>{"top"});
  EXPECT_EQ(top->folders, (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(namesOf(store.list("f")->objects), names);
  EXPECT_EQ(store.listAll("")->size(), 15u);
  EXPECT_TRUE(store.list("none")->objects.empty());
  ASSERT_TRUE(store.remove(names).isOk());
  EXPECT_EQ(store.listAll("")->size(), 2u);
}

TEST_F(S3StoreTest, KeepsPreconditions) {
  const auto first = store.put("a", "1", Precondition::absent());
  ASSERT_TRUE(first) << first.message();
  const auto again = store.put("a", "2", Precondition::absent());
  EXPECT_EQ(again.status().code(), StatusCode::alreadyExists);
  EXPECT_EQ(again.message(), "cannot write `" + store.textOf("a") +
                                 "`: the object exists or has been changed by "
                                 "another program");
  const auto second = store.put("a", "2", Precondition::matches(first->etag));
  ASSERT_TRUE(second) << second.message();
  EXPECT_EQ(
      store.put("a", "3", Precondition::matches(first->etag)).status().code(),
      StatusCode::alreadyExists);
  EXPECT_EQ(*store.readText("a", 100, nullptr), "2");
}

TEST_F(S3StoreTest, WritesLargeObjectsInParts) {
  const std::string data = patternOf((size_t(11) << 20) + 5);
  const auto written = store.put("large", data, Precondition::absent());
  ASSERT_TRUE(written) << written.message();
  EXPECT_EQ(written->crc32c, crc32c(bytesOf(data)));
  EXPECT_TRUE(written->etag.ends_with("-3")) << written->etag;
  std::string out(data.size(), ' ');
  ASSERT_TRUE(
      store.read(*written, 0, std::as_writable_bytes(std::span(out))).isOk());
  EXPECT_EQ(out, data);
  const auto again = store.put("large", data, Precondition::absent());
  EXPECT_EQ(again.status().code(), StatusCode::alreadyExists);
  EXPECT_TRUE(store.openUploads("")->empty());
}

TEST_F(S3StoreTest, ReadsSeveralRanges) {
  const auto written = store.put("a", "0123456789");
  std::string first(2, ' '), second(3, ' ');
  const ByteRange ranges[] = {{8, std::as_writable_bytes(std::span(first))},
                              {1, std::as_writable_bytes(std::span(second))}};
  ASSERT_TRUE(store.read(*written, ranges).isOk());
  EXPECT_EQ(first + second, "89123");
}

TEST_F(S3StoreTest, AppendsAndRewritesTheBeginning) {
  std::string data = patternOf(size_t(10) << 20);
  const auto upload = store.upload("a", {.rewritableBytes = 8});
  ASSERT_TRUE(upload);
  for (size_t at = 0; at < data.size(); at += 999999)
    ASSERT_TRUE((*upload)
                    ->append(bytesOf(data).subspan(
                        at, std::min<size_t>(999999, data.size() - at)))
                    .isOk());
  EXPECT_FALSE(*store.find("a"));
  data.replace(2, 4, "head");
  ASSERT_TRUE((*upload)->rewrite(2, bytesOf(data).subspan(2, 4)).isOk());
  EXPECT_FALSE((*upload)->rewrite(6, bytesOf(data).first(4)).isOk());
  const auto object = (*upload)->finish();
  ASSERT_TRUE(object) << object.message();
  EXPECT_EQ(object->crc32c, crc32c(bytesOf(data)));
  EXPECT_EQ(*store.readText("a", 1 << 30, nullptr), data);
}

TEST_F(S3StoreTest, DiscardsAnUploadThatDoesNotFinish) {
  const std::string data = patternOf(size_t(6) << 20);
  {
    const auto upload = store.upload("a", {});
    ASSERT_TRUE((*upload)->append(bytesOf(data)).isOk());
    ASSERT_TRUE((*upload)->append(bytesOf(data)).isOk());
  }
  EXPECT_FALSE(*store.find("a"));
  EXPECT_TRUE(store.openUploads("")->empty());
}

TEST_F(S3StoreTest, FindsUploadsThatNobodyFinishes) {
  S3Request request;
  request.method = "POST";
  request.address = {"bucket",
                     "S3StoreTest/FindsUploadsThatNobodyFinishes/a b"};
  request.query = {{"uploads", ""}};
  ASSERT_TRUE(client->demand(request));
  const auto found = store.openUploads("");
  ASSERT_TRUE(found) << found.message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().name, "a b");
  EXPECT_GT(found->front().started, 1700000000);
  ASSERT_TRUE(store.discard(found->front()).isOk());
  ASSERT_TRUE(store.discard(found->front()).isOk());
  EXPECT_TRUE(store.openUploads("")->empty());
}

TEST_F(S3StoreTest, SaysWhatIsMissing) {
  const auto object = store.readText("none", 100, nullptr);
  EXPECT_EQ(object.status().code(), StatusCode::notFound);
  EXPECT_EQ(object.message(), "cannot read `" + store.textOf("none") +
                                  "`: there is no such object");
  S3Store other(client, {"absent", "a"});
  const auto bucket = other.put("b", "");
  EXPECT_EQ(bucket.status().code(), StatusCode::notFound);
  EXPECT_EQ(bucket.message(), "cannot write `s3://absent/a/b`: there is no "
                              "bucket `absent` at `" +
                                  client->settings().endpoint +
                                  "`; create it, or correct the name");
}

TEST_F(S3StoreTest, RefusesObjectsBeyondTheLimit) {
  ASSERT_TRUE(store.put("a", "0123456789"));
  EXPECT_NE(store.readText("a", 9, nullptr)
                .message()
                .find("the answer has more than 9 bytes"),
            std::string::npos);
}

TEST_F(S3StoreTest, RefusesRangesBeyondTheEnd) {
  const auto written = store.put("a", "0123456789");
  std::string out(4, ' ');
  const auto into = std::as_writable_bytes(std::span(out));
  EXPECT_EQ(store.read(*written, 8, into).message(),
            "cannot read `" + store.textOf("a") +
                "`: it ends at byte 10, 2 bytes before it should");
  EXPECT_NE(
      store.read(*written, 20, into).message().find("ends before byte 20"),
      std::string::npos);
}

} // namespace
} // namespace reciperun::storage
