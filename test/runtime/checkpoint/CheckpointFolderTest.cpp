// Which checkpoints are published, which are kept, and which is the newest.

#include "runtime/checkpoint/CheckpointFolder.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

using Names = std::vector<std::string>;

/// Publishes an empty checkpoint.
Status publish(CheckpointFolder& folder, int64_t step, const Keep& keep,
               std::optional<double> loss = {}) {
  Manifest manifest;
  manifest.position.step = step;
  manifest.validLoss = loss;
  std::filesystem::create_directories(folder.staging(step));
  return folder.publish(manifest, keep);
}

TEST(CheckpointFolder, KnowsItsNames) {
  EXPECT_EQ(stepOfName("step-00000500"), 500);
  EXPECT_EQ(stepOfName("step-1234567890123"), 1234567890123);
  for (const char* name : {"step-", "step-1x", "step--1", "steps-1", "1",
                           "step-00000001.tmp", "step-99999999999999999999"})
    EXPECT_EQ(stepOfName(name), std::nullopt) << name;
}

TEST(CheckpointFolder, KeepsTheLast) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  for (int64_t step : {1, 2, 3, 4})
    ASSERT_TRUE(publish(folder, step, {2, 0}).isOk());
  EXPECT_EQ(test.names(), (Names{"step-00000003", "step-00000004"}));
}

TEST(CheckpointFolder, DoesWithoutThoseThatOthersMoved) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(publish(folder, 1, {1, 0}).isOk());
  std::filesystem::remove_all(folder.checkpoint(1));
  ASSERT_TRUE(publish(folder, 2, {1, 0}).isOk());
  EXPECT_TRUE(folder.takeLeftovers().empty());
  // A directory blocks the removal.
  std::filesystem::create_directories(folder.staging(2) / "full");
  ASSERT_TRUE(publish(folder, 3, {1, 0}).isOk());
  const std::vector<std::string> left = folder.takeLeftovers();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_NE(left[0].find("cannot remove"), std::string::npos) << left[0];
  EXPECT_TRUE(folder.takeLeftovers().empty());
  std::filesystem::remove_all(folder.staging(2));
  ASSERT_TRUE(publish(folder, 4, {1, 0}).isOk());
  EXPECT_EQ(test.names(), Names{"step-00000004"});
}

TEST(CheckpointFolder, KeepsTheBestAndTheLast) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  const double losses[] = {3, 1, 2, 4, 5};
  for (int64_t step = 1; step <= 5; ++step)
    ASSERT_TRUE(publish(folder, step, {1, 2}, losses[step - 1]).isOk());
  EXPECT_EQ(test.names(),
            (Names{"step-00000002", "step-00000003", "step-00000005"}));
  // A checkpoint without a validation loss is the last but never among the
  // best.
  ASSERT_TRUE(publish(folder, 6, {1, 2}).isOk());
  ASSERT_TRUE(publish(folder, 7, {1, 2}, 6.0).isOk());
  EXPECT_EQ(test.names(),
            (Names{"step-00000002", "step-00000003", "step-00000007"}));
}

TEST(CheckpointFolder, GoesOnByTheManifestsThatAreThere) {
  TestFolder test;
  {
    CheckpointFolder folder(test.path());
    ASSERT_TRUE(publish(folder, 10, {2, 1}, 1.0).isOk());
    ASSERT_TRUE(publish(folder, 20, {2, 1}, 2.0).isOk());
  }
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(folder.open().isOk());
  EXPECT_EQ(folder.newest(), 20);
  ASSERT_TRUE(publish(folder, 30, {1, 1}, 3.0).isOk());
  EXPECT_EQ(test.names(), (Names{"step-00000010", "step-00000030"}));
}

TEST(CheckpointFolder, TakesTheLastSavedNotTheHighestStep) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(publish(folder, 100, {3, 0}).isOk());
  ASSERT_TRUE(publish(folder, 50, {3, 0}).isOk());
  EXPECT_EQ(folder.newest(), 50);
  CheckpointFolder again(test.path());
  ASSERT_TRUE(again.open().isOk());
  EXPECT_EQ(again.newest(), 50);
}

TEST(CheckpointFolder, ReplacesACheckpointOfTheSameStep) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(publish(folder, 1, {1, 0}, 1.0).isOk());
  ASSERT_TRUE(publish(folder, 1, {1, 0}, 2.0).isOk());
  EXPECT_EQ(test.names(), (Names{"step-00000001"}));
  auto manifest = readManifest(folder.checkpoint(1));
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->validLoss, 2.0);
  EXPECT_EQ(manifest->serial, 2);
}

TEST(CheckpointFolder, RemovesLeftoversAndNothingElse) {
  TestFolder test;
  test.write("step-00000007.tmp/rank-00000.safetensors", "half");
  test.write("step-00000008.old-123/manifest.json", "{}");
  test.write("notes.tmp/mine", "text");
  test.write("step-x.tmp/mine", "text");
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(folder.prepare().isOk());
  EXPECT_EQ(test.names(), (Names{"notes.tmp", "step-x.tmp"}));
}

TEST(CheckpointFolder, PassesOverDamagedCheckpoints) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(publish(folder, 1, {5, 0}).isOk());
  ASSERT_TRUE(publish(folder, 2, {5, 0}).isOk());
  ASSERT_TRUE(publish(folder, 3, {5, 0}).isOk());
  test.write("step-00000003/manifest.json", "{");
  std::filesystem::remove(test / "step-00000002/manifest.json");
  CheckpointFolder again(test.path());
  ASSERT_TRUE(again.open().isOk());
  EXPECT_EQ(again.newest(), 1);
  EXPECT_TRUE(again.checkNewest().isOk());
  ASSERT_EQ(again.faults().size(), 2u);
  EXPECT_EQ(again.faults()[0].step, 2);
  EXPECT_EQ(again.faults()[0].reason, "it has no `manifest.json`");
  EXPECT_EQ(again.faults()[1].step, 3);
  EXPECT_NE(again.faults()[1].reason.find("ends inside a value"),
            std::string::npos);
  // Damaged checkpoints are never removed.
  ASSERT_TRUE(publish(again, 4, {1, 0}).isOk());
  EXPECT_EQ(test.names(),
            (Names{"step-00000002", "step-00000003", "step-00000004"}));
  // A new checkpoint of the same name renames the damaged one.
  ASSERT_TRUE(publish(again, 3, {1, 0}).isOk());
  ASSERT_EQ(again.takeLeftovers().size(), 1u);
  EXPECT_EQ(test.names(),
            (Names{"step-00000002", "step-00000003", "step-00000003.damaged"}));
}

TEST(CheckpointFolder, DoesNotTakeUnreadableForAbsent) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(publish(folder, 1, {5, 0}).isOk());
  ASSERT_TRUE(publish(folder, 2, {5, 0}).isOk());
  auto foundBy = [&] {
    CheckpointFolder again(test.path());
    EXPECT_TRUE(again.open().isOk());
    return again.checkNewest().message();
  };
  EXPECT_EQ(foundBy(), "");
  // A manifest of a newer version.
  const std::string whole = readBytes(test / "step-00000002/manifest.json");
  std::string newer = whole;
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":7");
  test.write("step-00000002/manifest.json", newer);
  EXPECT_NE(foundBy().find("step-00000002` cannot be read, and may be where "
                           "the run stands: "),
            std::string::npos)
      << foundBy();
  EXPECT_NE(foundBy().find("is of version 7"), std::string::npos);
  // A directory in place of the manifest cannot be read either.
  std::filesystem::remove(test / "step-00000002/manifest.json");
  std::filesystem::create_directory(test / "step-00000002/manifest.json");
  EXPECT_NE(foundBy().find("cannot be read"), std::string::npos) << foundBy();
  // No checkpoint remains when all are damaged.
  std::filesystem::remove(test / "step-00000002/manifest.json");
  test.write("step-00000001/manifest.json", "");
  EXPECT_NE(foundBy().find("of the 2 checkpoints in `"), std::string::npos)
      << foundBy();
}

TEST(CheckpointFolder, PassesOverWhatIsFoundDamagedLater) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  ASSERT_TRUE(publish(folder, 1, {5, 0}).isOk());
  ASSERT_TRUE(publish(folder, 2, {5, 0}).isOk());
  folder.passOver(2, "a bit");
  EXPECT_EQ(folder.newest(), 1);
  EXPECT_TRUE(folder.checkNewest().isOk());
  folder.passOver(1, "another");
  EXPECT_NE(folder.checkNewest().message().find(
                "none can be used; `step-00000001`: another; `step-00000002`: "
                "a bit"),
            std::string::npos)
      << folder.checkNewest().message();
}

TEST(CheckpointFolder, PublishesNothingWhereAFileIsMissing) {
  TestFolder test;
  CheckpointFolder folder(test.path());
  Manifest manifest;
  manifest.position.step = 4;
  manifest.files = {{"rank-00000.safetensors", 10, {}}};
  std::filesystem::create_directories(folder.staging(4));
  Status status = folder.publish(manifest, {});
  EXPECT_NE(status.message().find("rank-00000.safetensors"), std::string::npos);
  EXPECT_EQ(test.names(), (Names{"step-00000004.tmp"}));
  EXPECT_EQ(folder.newest(), std::nullopt);
}

} // namespace
} // namespace reciperun::checkpoint
