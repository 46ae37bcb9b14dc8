// The files of an object store as the program's readers and writers see them.

#include "runtime/storage/ObjectFiles.h"

#include "runtime/base/InputFile.h"
#include "test/runtime/storage/S3Server.h"

#include <unistd.h>

namespace reciperun::storage {
namespace {

namespace fs = std::filesystem;

class ObjectFilesTest : public S3Test {
protected:
  ObjectFilesTest()
      : folder(store.root()), cache(fs::temp_directory_path() /
                                    ("objects-" + std::to_string(getpid()))) {
    useRemoteFiles(objectFiles(cache));
  }
  ~ObjectFilesTest() override {
    useRemoteFiles(nullptr);
    fs::remove_all(cache);
  }

  static RemoteFiles& files() { return **remoteFilesOf("s3://bucket"); }

  Status write(const std::string& name, const std::string& text,
               Earlier earlier = Earlier::replace) {
    auto file = files().create((folder / name).string(), {});
    RECIPERUN_TRY(file);
    RECIPERUN_TRY((*file)->append(std::as_bytes(std::span(text))));
    return (*file)->commit(earlier);
  }

  std::string read(const std::string& name) {
    Expected<std::string> text = readTextFile(folder / name);
    return text ? *text : text.message();
  }

  fs::path folder, cache;
};

TEST_F(ObjectFilesTest, AreWrittenReadAndRemoved) {
  ASSERT_EQ(write("a/one", "0123456789").message(), "");
  ASSERT_EQ(write("a/below/two", "xy").message(), "");
  EXPECT_EQ(read("a/one"), "0123456789");
  EXPECT_EQ(typeOf(folder / "a/one"), fs::file_type::regular);
  EXPECT_EQ(typeOf(folder / "a"), fs::file_type::directory);
  EXPECT_EQ(typeOf(folder / "b"), fs::file_type::not_found);
  EXPECT_TRUE(isAbsent(folder / "a/three"));
  EXPECT_EQ(typeOf("s3://nowhere/a"), fs::file_type::none);

  auto entries =
      files().list((folder / "a").string(), RemoteFiles::Depth::entries);
  ASSERT_TRUE(entries) << entries.message();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "below");
  EXPECT_TRUE((*entries)[0].isFolder);
  EXPECT_EQ((*entries)[1].name, "one");
  EXPECT_EQ((*entries)[1].bytes, 10);
  auto all = files().list(folder.string(), RemoteFiles::Depth::allFiles);
  ASSERT_TRUE(all) << all.message();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].name, "a/below/two");

  const std::string one = (folder / "a/one").string();
  EXPECT_TRUE(files().remove(std::span(&one, 1)).isOk());
  EXPECT_TRUE(files().remove(std::span(&one, 1)).isOk());
  EXPECT_TRUE(isAbsent(one));
}

TEST_F(ObjectFilesTest, RangesAreReadAtOnce) {
  const std::string text = patternOf(1 << 20);
  ASSERT_EQ(write("large", text).message(), "");
  const Expected<InputFile> file = InputFile::open(folder / "large");
  ASSERT_TRUE(file) << file.message();
  EXPECT_TRUE(file->isRemote());
  std::string first(1000, ' '), last(7, ' ');
  const FileRange ranges[] = {
      {500'000, std::as_writable_bytes(std::span(first))},
      {(1 << 20) - 7, std::as_writable_bytes(std::span(last))}};
  ASSERT_TRUE(file->read(ranges).isOk());
  EXPECT_EQ(first, text.substr(500'000, 1000));
  EXPECT_EQ(last, text.substr((1 << 20) - 7));
  const Status beyond =
      file->read((1 << 20) - 3, std::as_writable_bytes(std::span(last)));
  EXPECT_NE(beyond.message().find("4 bytes before it should"),
            std::string::npos)
      << beyond.message();
}

TEST_F(ObjectFilesTest, AnEarlierFileMayBeRefused) {
  ASSERT_EQ(write("a", "1", Earlier::refuse).message(), "");
  EXPECT_EQ(write("a", "2", Earlier::refuse).code(), StatusCode::alreadyExists);
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(write("a", "2").message(), "");
  EXPECT_EQ(read("a"), "2");
}

TEST_F(ObjectFilesTest, TheFirstBytesMayBeRewritten) {
  const std::string text = patternOf(20 << 20), start = "rewritten";
  auto file = files().create((folder / "parts").string(),
                             {.bytes = int64_t(text.size()), .rewritten = 100});
  ASSERT_TRUE(file) << file.message();
  ASSERT_TRUE((*file)->append(std::as_bytes(std::span(text))).isOk());
  ASSERT_TRUE((*file)->rewrite(8, std::as_bytes(std::span(start))).isOk());
  ASSERT_EQ((*file)->commit(Earlier::replace).message(), "");
  EXPECT_EQ(read("parts"),
            text.substr(0, 8) + start + text.substr(8 + start.size()));
}

TEST_F(ObjectFilesTest, ObjectsAreCopiedOnce) {
  ASSERT_EQ(write("data", "1 2 3").message(), "");
  const auto readNearby = [&] {
    const Expected<InputFile> file = InputFile::openNearby(folder / "data");
    std::string text(file ? size_t(file->size()) : 0, ' ');
    EXPECT_TRUE(file) << file.message();
    EXPECT_FALSE(file->isRemote());
    EXPECT_EQ(file->path(), folder / "data");
    EXPECT_TRUE(file->read(0, std::as_writable_bytes(std::span(text))).isOk());
    return text;
  };
  EXPECT_EQ(readNearby(), "1 2 3");
  const int before = requestsWith("\"GET\"");
  EXPECT_EQ(readNearby(), "1 2 3");
  EXPECT_EQ(requestsWith("\"GET\""), before);
  ASSERT_EQ(write("data", "4 5 6").message(), "");
  EXPECT_EQ(readNearby(), "4 5 6");
}

} // namespace
} // namespace reciperun::storage
