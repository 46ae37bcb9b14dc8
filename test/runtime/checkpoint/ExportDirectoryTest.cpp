// Export directories are replaced as a whole and never delete a user's files.

#include "runtime/checkpoint/ExportDirectory.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>

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
  ASSERT_TRUE(exportOnce(place, "one").isOk());
  EXPECT_EQ(readBytes(place / "config.json"), "one");
  Status second = exportOnce(place.string() + "/", "two");
  ASSERT_TRUE(second.isOk()) << second.message();
  EXPECT_EQ(readBytes(place / "config.json"), "two");
  EXPECT_EQ(std::distance(
                std::filesystem::directory_iterator(place.parent_path()), {}),
            1);
}

TEST(ExportDirectory, AnAbandonedExportChangesNothing) {
  TestFolder folder;
  ASSERT_TRUE(exportOnce(folder / "model", "one").isOk());
  {
    auto output = ExportDirectory::create(folder / "model");
    ASSERT_TRUE(output);
    std::ofstream(output->path() / "config.json") << "half";
  }
  EXPECT_EQ(readBytes(folder / "model/config.json"), "one");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
}

TEST(ExportDirectory, RefusesAnEarlierExportWhereAskedTo) {
  TestFolder folder;
  ASSERT_TRUE(exportOnce(folder / "model", "one").isOk());
  std::filesystem::create_directories(folder / "empty");
  auto messageFor = [&](const char* name) {
    return ExportDirectory::create(folder / name, Contents::model,
                                   Existing::refuse)
        .message();
  };
  EXPECT_NE(messageFor("model").find("already holds a model"),
            std::string::npos);
  EXPECT_EQ(messageFor("empty"), "");
  EXPECT_EQ(readBytes(folder / "model/config.json"), "one");
}

TEST(ExportDirectory, AnAbandonedExportLeavesNoParents) {
  TestFolder folder;
  ASSERT_TRUE(checkWritable(folder / "deep/er/model").isOk());
  EXPECT_TRUE(folder.names().empty());
  {
    auto output = ExportDirectory::create(folder / "deep/er/model");
    ASSERT_TRUE(output);
    folder.write("deep/notes", "of another program");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "deep/er"));
  EXPECT_EQ(readBytes(folder / "deep/notes"), "of another program");
}

TEST(ExportDirectory, RefusesAFolderWithOtherFiles) {
  TestFolder folder;
  folder.write("model/thesis.tex", "years of work");
  Status status = checkWritable(folder / "model");
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.message().find("would delete its `thesis.tex`"),
            std::string::npos);
  EXPECT_EQ(readBytes(folder / "model/thesis.tex"), "years of work");
}

TEST(ExportDirectory, RefusesAFileAtThePlaceOrAbove) {
  TestFolder folder;
  folder.write("file", "");
  EXPECT_NE(checkWritable(folder / "file").message().find("is no directory"),
            std::string::npos);
  EXPECT_FALSE(checkWritable(folder / "file/below").isOk());
}

std::string stagingName(const TestFolder& folder) {
  auto output = ExportDirectory::create(folder / "model");
  EXPECT_TRUE(output) << output.message();
  return output->path().filename().string();
}

/// The id of a process that has ended.
pid_t deadProcess() {
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(ExportDirectory, RemovesWhatDeadProcessesHaveLeft) {
  TestFolder folder;
  const std::string own = stagingName(folder);
  const std::string stem = own.substr(0, own.rfind('-') + 1);
  const std::string kept[] = {
      stem + std::to_string(getppid()), // still runs
      stem + "12x",                     // not our name
      "model.tmp-elsewhere-1",          // of another host
      "other" + stem.substr(5) + std::to_string(deadProcess()),
  };
  for (const std::string& name : kept)
    folder.write(name + "/model.safetensors", "half");
  for (const std::string& name : {own, stem + std::to_string(deadProcess())})
    folder.write(name + "/model.safetensors", "half");
  stagingName(folder);
  std::vector<std::string> names(std::begin(kept), std::end(kept));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(folder.names(), names);
}

TEST(ExportDirectory, SaysThatARelativePathLeadsNowhere) {
  EXPECT_EXIT(
      {
        auto gone = std::make_unique<TestFolder>();
        std::filesystem::current_path(gone->path());
        gone.reset();
        Status status = checkWritable("model");
        bool isTold =
            status.message().find("give a path that begins with `/`") !=
            std::string::npos;
        _exit(isTold ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ExportDirectory, CheckingLeavesNothing) {
  TestFolder folder;
  ASSERT_TRUE(checkWritable(folder / "model").isOk());
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
} // namespace reciperun::checkpoint
