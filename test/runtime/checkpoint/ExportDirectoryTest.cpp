// Folders that take their place whole, and that never cost a user's files.

#include "runtime/checkpoint/ExportDirectory.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

#include <fstream>

namespace reciperun::checkpoint {
namespace {

Status exportOnce(const std::filesystem::path& place, const char* text) {
  auto output = ExportDirectory::create(place);
  RECIPERUN_TRY(output);
  std::ofstream(output->path() / "config.json") << text;
  return output->commit();
}

TEST(ExportDirectory, MakesParentsAndReplacesAnEarlierExport) {
  TestFolder folder;
  auto place = folder / "deep/er/model";
  ASSERT_TRUE(exportOnce(place, "one"));
  EXPECT_EQ(readBytes(place / "config.json"), "one");
  Status second = exportOnce(place.string() + "/", "two");
  ASSERT_TRUE(second) << second.message();
  EXPECT_EQ(readBytes(place / "config.json"), "two");
  EXPECT_EQ(std::distance(
                std::filesystem::directory_iterator(place.parent_path()), {}),
            1);
}

TEST(ExportDirectory, AnAbandonedExportChangesNothing) {
  TestFolder folder;
  ASSERT_TRUE(exportOnce(folder / "model", "one"));
  {
    auto output = ExportDirectory::create(folder / "model");
    ASSERT_TRUE(output);
    std::ofstream(output->path() / "config.json") << "half";
  }
  EXPECT_EQ(readBytes(folder / "model/config.json"), "one");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
}

TEST(ExportDirectory, RefusesAFolderWithOtherFiles) {
  TestFolder folder;
  folder.write("model/thesis.tex", "years of work");
  Status status = checkWritable(folder / "model");
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("would delete its `thesis.tex`"),
            std::string::npos);
  EXPECT_EQ(readBytes(folder / "model/thesis.tex"), "years of work");
}

TEST(ExportDirectory, RefusesAFileAtThePlaceOrAbove) {
  TestFolder folder;
  folder.write("file", "");
  EXPECT_NE(checkWritable(folder / "file").message().find("is no directory"),
            std::string::npos);
  EXPECT_FALSE(checkWritable(folder / "file/below"));
}

TEST(ExportDirectory, CheckingLeavesNothing) {
  TestFolder folder;
  ASSERT_TRUE(checkWritable(folder / "model"));
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
} // namespace reciperun::checkpoint
