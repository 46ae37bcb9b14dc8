// What file names and the first bytes of files reveal.

#include "runtime/data/FileHead.h"

#include "test/runtime/data/ScratchFile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>

namespace reciperun::data {
namespace {

TEST(FileHead, saysWhyAPathLeadsToNoFile) {
  const ScratchFile file("a"), empty("");
  EXPECT_EQ(whyNoFile(file.path()), "");
  EXPECT_EQ(whyNoFile(empty.path()), "it is empty");
  EXPECT_EQ(whyNoFile("no/such/file"), "No such file or directory");
  EXPECT_EQ(whyNoFile(file.path() + "/below"), "Not a directory");
  EXPECT_EQ(whyNoFile("/tmp"), "it is a folder, not a regular file");
  EXPECT_EQ(whyNoFolder("/tmp"), "");
  EXPECT_EQ(whyNoFolder(file.path()), "it is a file, not a folder");
  EXPECT_EQ(whyNoFolder("no/such/folder"), "No such file or directory");
}

TEST(FileHead, doesNotWaitForPipes) {
  const ScratchFile place("");
  const std::string path = place.path() + ".fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(whyNoFile(path), "it is a FIFO, not a regular file");
  EXPECT_FALSE(readHead(path, 10));
  std::remove(path.c_str());
}

TEST(FileHead, readsNoMoreThanItIsAskedFor) {
  const ScratchFile file("abcdef");
  EXPECT_EQ(*readHead(file.path(), 4), "abcd");
  EXPECT_EQ(*readHead(file.path(), 100), "abcdef");
  EXPECT_EQ(readHead("no/such/file", 1).message(),
            "cannot read `no/such/file`: No such file or directory");
}

TEST(FileHead, tellsTextFromIds) {
  const std::string text = "caf\u00e9 and more text";
  EXPECT_TRUE(isText(text));
  EXPECT_TRUE(isText(text + "\n\t" + "\xE2\x82")); // cut within a character
  EXPECT_FALSE(isText("short"));
  EXPECT_FALSE(isText(text + '\x01'));
  EXPECT_FALSE(isText(text + "\xFF" + text));
  EXPECT_FALSE(isText(std::string(64, '\0')));
}

TEST(FileHead, knowsFilesOfOtherPrograms) {
  EXPECT_EQ(otherFormat("\x1f\x8b\x08rest"), "gzip");
  EXPECT_EQ(otherFormat("PAR1"), "Parquet");
  EXPECT_EQ(otherFormat("{\"a\": 1}"), "");
  EXPECT_EQ(otherFormat(""), "");
}

} // namespace
} // namespace reciperun::data
