// What a path is: a run, its checkpoints, one of these, a model, an adapter.

#include "runtime/checkpoint/FolderKind.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

TEST(FolderKind, TellsAFolderByItsContents) {
  TestFolder folder;
  folder.write("run/checkpoints/step-00000002/manifest.json", "{}");
  folder.write("begun/plan.json", "{}");
  folder.write("begun/metrics.jsonl", "{}");
  folder.write("adapter/adapter_config.json", "{}");
  folder.write("model/config.json", "{}");
  std::filesystem::create_directories(folder / "empty");
  auto kind = [&](const char* name) { return lookAt(folder / name).kind; };
  EXPECT_EQ(kind("run"), FolderKind::run);
  EXPECT_EQ(kind("run/checkpoints"), FolderKind::checkpoints);
  EXPECT_EQ(kind("run/checkpoints/step-00000002"), FolderKind::checkpoint);
  EXPECT_EQ(kind("begun"), FolderKind::run);
  EXPECT_EQ(kind("adapter"), FolderKind::adapter);
  EXPECT_EQ(kind("model"), FolderKind::model);
  EXPECT_EQ(kind("model/config.json"), FolderKind::file);
  EXPECT_EQ(kind("empty"), FolderKind::other);
  EXPECT_EQ(kind("none"), FolderKind::missing);
}

TEST(FolderKind, NamesTheCheckpointThatWasSavedLast) {
  TestFolder folder;
  // A run that began anew saves lower steps later.
  folder.write("step-00000010/manifest.json", R"({"serial": 1})");
  folder.write("step-00000005/manifest.json", R"({"serial": 2})");
  folder.write("step-00000020/manifest.json", "damaged");
  folder.write("step-00000030.tmp/manifest.json", R"({"serial": 3})");
  const Folder found = lookAt(folder.path());
  EXPECT_EQ(found.newest, folder / "step-00000005");
  folder.write("model/config.json", "{}");
  const std::string model = (folder / "model").string();
  EXPECT_EQ(describe(model + "/config.json", {FolderKind::file, {}}),
            "`" + model + "/config.json` is a file of the model in `" + model +
                "`");
  EXPECT_EQ(describe("runs", {FolderKind::run, "runs/checkpoints/step-1"}),
            "`runs` is the folder of a run, whose last checkpoint is "
            "`runs/checkpoints/step-1`");
}

} // namespace
} // namespace reciperun::checkpoint
