#include "runtime/storage/FileStore.h"

#include "test/runtime/storage/TestEnvironment.h"

namespace reciperun::storage {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> namesOf(const std::vector<Object>& objects) {
  std::vector<std::string> names;
  for (const Object& object : objects)
    names.push_back(object.name);
  return names;
}

TEST(FileStore, WritesReadsListsAndRemoves) {
  TestEnvironment files;
  const auto opened = openStore((files.home() / "store/").string());
  ASSERT_TRUE(opened) << opened.message();
  ObjectStore& store = **opened;
  EXPECT_EQ(store.textOf("a"), (files.home() / "store/a").string());
  ASSERT_TRUE(store.put("b/c", "inner"));
  ASSERT_TRUE(store.put("a", "0123456789"));
  EXPECT_EQ(*store.readText("b/c"), "inner");
  const auto found = store.find("a");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->bytes, 10);
  std::string part(4, ' ');
  ASSERT_TRUE(
      store.read(**found, 3, std::as_writable_bytes(std::span(part))).isOk());
  EXPECT_EQ(part, "3456");
  EXPECT_EQ(namesOf(*store.listAll("")),
            (std::vector<std::string>{"a", "b/c"}));
  const auto listing = store.list("");
  EXPECT_EQ(namesOf(listing->objects), std::vector<std::string>{"a"});
  EXPECT_EQ(listing->folders, std::vector<std::string>{"b"});
  EXPECT_TRUE(store.list("none")->objects.empty());
  ASSERT_TRUE(store.remove({"a", "gone"}).isOk());
  EXPECT_FALSE(*store.find("a"));
  EXPECT_EQ(store.readText("a").status().code(), StatusCode::notFound);
}

TEST(FileStore, KeepsPreconditions) {
  TestEnvironment files;
  FileStore store(files.home());
  ASSERT_TRUE(store.put("a", "first", Precondition::absent()));
  const auto second = store.put("a", "second", Precondition::absent());
  EXPECT_EQ(second.status().code(), StatusCode::alreadyExists);
  EXPECT_EQ(*store.readText("a", 100, nullptr), "first");
  EXPECT_EQ(namesOf(*store.listAll("")), std::vector<std::string>{"a"});
  EXPECT_TRUE(store.openUploads("")->empty());
  EXPECT_FALSE(store.put("a", "x", Precondition::matches("etag")));
}

TEST(FileStore, ShowsAFileWhenItIsWhole) {
  TestEnvironment files;
  FileStore store(files.home());
  {
    const auto upload = store.upload("a", {});
    ASSERT_TRUE(upload);
    const std::string text = "header-data";
    ASSERT_TRUE((*upload)->append(std::as_bytes(std::span(text))).isOk());
    EXPECT_FALSE(*store.find("a"));
    EXPECT_EQ(store.openUploads("")->size(), 1u);
    ASSERT_TRUE(
        (*upload)->rewrite(0, std::as_bytes(std::span(text)).last(4)).isOk());
    ASSERT_TRUE((*upload)->finish());
  }
  EXPECT_EQ(*store.readText("a", 100, nullptr), "dataer-data");
  {
    const auto upload = store.upload("b", {});
    ASSERT_TRUE(upload);
  }
  EXPECT_FALSE(*store.find("b"));
  EXPECT_TRUE(store.openUploads("")->empty());
}

} // namespace
} // namespace reciperun::storage
