// Checkpoints in an object store: whichever operation is the last of a process,
// no checkpoint looks whole that is not, and the next process removes the rest.

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/ExportDirectory.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/RankFile.h"
#include "runtime/checkpoint/StateLoader.h"
#include "runtime/device/cpu/CpuDevice.h"

#include "MemoryFiles.h"
#include "StatePlan.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

const fs::path folderInStore = "s3://bucket/run/checkpoints";

class RemoteCheckpoint : public testing::Test {
protected:
  RemoteCheckpoint() { useStoreInMemory(store); }
  ~RemoteCheckpoint() override { useRemoteFiles(nullptr); }

  /// Saves a step as the ranks of a run do; stops at the first failure.
  Status save(const StateRanks& ranks, CheckpointFolder& folder, int64_t step,
              const std::string& run, const Keep& keep = {}) {
    const SaveId id{run, step};
    for (int rank = 0; rank < ranks.count(); ++rank) {
      RankFile file(ranks.plan(), rank);
      device::CpuDevice device(1);
      ArenaBuffers buffers(ranks.plan(), rank, ranks.arena(rank), device);
      if (file.isEmpty())
        continue;
      RECIPERUN_TRY(folder.begin(step));
      RECIPERUN_TRY(file.write(folder.staging(step), id, buffers));
    }
    Manifest manifest = describeRun(ranks.plan(), run);
    manifest.position.step = step;
    return folder.publish(manifest, keep);
  }

  /// A run that starts, and saves a step.
  Status runAndSave(const StateRanks& ranks, int64_t step,
                    const std::string& run, const Keep& keep = {}) {
    CheckpointFolder folder(folderInStore);
    RECIPERUN_TRY(folder.prepare());
    RECIPERUN_TRY(folder.open());
    RECIPERUN_TRY(folder.checkNewest());
    return save(ranks, folder, step, run, keep);
  }

  static Status load(StateRanks& ranks, const fs::path& path) {
    for (int rank = 0; rank < ranks.count(); ++rank) {
      auto reader = StateReader::open(path);
      RECIPERUN_TRY(reader);
      RECIPERUN_TRY(checkModel(ranks.plan(), *reader, Take::all));
      device::CpuDevice device(1);
      ArenaBuffers buffers(ranks.plan(), rank, ranks.arena(rank), device);
      RECIPERUN_TRY(loadState(ranks.plan(), rank, *reader, Take::all, buffers));
    }
    return Status::ok();
  }

  std::shared_ptr<StoreContents> store = std::make_shared<StoreContents>();
};

constexpr const char* runA = "00000000000000aa";
constexpr const char* runB = "00000000000000bb";

TEST_F(RemoteCheckpoint, IsReadInAnotherLayout) {
  StateRanks two(Layout{1, 2, 1}), four(Layout{1, 2, 2});
  two.fill();
  ASSERT_TRUE(runAndSave(two, 7, runA).isOk());
  CheckpointFolder folder(folderInStore);
  ASSERT_TRUE(folder.open().isOk());
  ASSERT_EQ(folder.newest(), 7);
  const Status loaded = load(four, folder.checkpoint(7));
  ASSERT_TRUE(loaded.isOk()) << loaded.message();
  EXPECT_EQ(four.wrong(), 0);
  EXPECT_EQ(verify(folder.checkpoint(7)).condition, Condition::whole);
}

/// Kills a run at each of its operations: the second save, of another step or
/// of the same one. Then looks at what a reader and the next run find.
TEST_F(RemoteCheckpoint, SurvivesAKillAtEveryOperation) {
  StateRanks ranks(Layout{1, 2, 1});
  ranks.fill();
  for (int64_t second : {8, 7}) {
    bool isDone = false;
    for (int64_t operations = 0; !isDone; ++operations) {
      *store = StoreContents();
      ASSERT_TRUE(runAndSave(ranks, 7, runA).isOk());
      store->operationsLeft = operations;
      isDone = runAndSave(ranks, second, runB).isOk();
      store->operationsLeft = std::numeric_limits<int64_t>::max();

      CheckpointFolder reader(folderInStore);
      ASSERT_TRUE(reader.open().isOk());
      EXPECT_TRUE(reader.faults().empty());
      for (int64_t step : reader.steps())
        EXPECT_EQ(verify(reader.checkpoint(step)).condition, Condition::whole)
            << "step " << step << " after " << operations;
      if (second == 8) { // the earlier one stays until the later one is whole
        ASSERT_TRUE(reader.newest().has_value()) << operations;
        EXPECT_EQ(load(ranks, reader.checkpoint(*reader.newest())).message(),
                  "");
        EXPECT_EQ(ranks.wrong(), 0);
      }

      ASSERT_TRUE(runAndSave(ranks, 9, runA).isOk());
      EXPECT_TRUE(store->uploads.empty());
      for (const auto& [address, text] : store->files)
        EXPECT_TRUE(
            address.starts_with(folderInStore.string() + "/step-00000009/"))
            << address << " after " << operations;
      ASSERT_LT(operations, 1000);
    }
  }
}

TEST_F(RemoteCheckpoint, TellsAnotherJobFromALostAnswer) {
  StateRanks ranks(Layout{});
  ranks.fill();
  store->losesAnswers = true;
  EXPECT_TRUE(runAndSave(ranks, 1, runA).isOk());
  store->losesAnswers = false;

  CheckpointFolder folder(folderInStore);
  ASSERT_TRUE(folder.open().isOk());
  RankFile file(ranks.plan(), 0);
  device::CpuDevice device(1);
  ArenaBuffers buffers(ranks.plan(), 0, ranks.arena(0), device);
  ASSERT_TRUE(folder.begin(2).isOk());
  ASSERT_TRUE(file.write(folder.staging(2), {runB, 2}, buffers).isOk());
  const std::string manifest = (folder.checkpoint(2) / manifestName).string();
  store->files[manifest] = "{}";
  Manifest described = describeRun(ranks.plan(), runB);
  described.position.step = 2;
  EXPECT_EQ(folder.publish(described, {}).message(),
            "another job has saved `s3://bucket/run/checkpoints/step-00000002` "
            "meanwhile; give each run its own `checkpoint.dir`");
}

TEST_F(RemoteCheckpoint, KeepsWhatItIsToldTo) {
  StateRanks ranks(Layout{});
  ranks.fill();
  for (int64_t step : {1, 2, 3})
    ASSERT_TRUE(runAndSave(ranks, step, runA, {.last = 2}).isOk());
  CheckpointFolder folder(folderInStore);
  ASSERT_TRUE(folder.open().isOk());
  EXPECT_EQ(folder.steps(), (std::vector<int64_t>{2, 3}));
}

TEST_F(RemoteCheckpoint, IsReadByFewRequests) {
  StateRanks ranks(Layout{1, 2, 2}), one(Layout{});
  ranks.fill();
  ASSERT_TRUE(runAndSave(ranks, 1, runA).isOk());
  store->reads = 0;
  ASSERT_TRUE(load(one, folderInStore / "step-00000001").isOk());
  EXPECT_EQ(one.wrong(), 0);
  // The manifest, two reads for the header of each file, and one for each kind
  // of a parameter's state in each file.
  EXPECT_LE(store->reads, 1 + 2 * 4 + 4 * 3 * 4);
}

TEST_F(RemoteCheckpoint, FlippedBitIsFound) {
  StateRanks ranks(Layout{});
  ranks.fill();
  ASSERT_TRUE(runAndSave(ranks, 1, runA).isOk());
  store->files[(folderInStore / "step-00000001" / rankFileName(0)).string()]
      .back() ^= 1;
  const Status loaded = load(ranks, folderInStore / "step-00000001");
  EXPECT_NE(loaded.message().find("(checksum)"), std::string::npos)
      << loaded.message();
}

TEST_F(RemoteCheckpoint, ExportReplacesAnEarlierOneAlone) {
  const fs::path target = "s3://bucket/model";
  store->files["s3://bucket/model/config.json"] = "{}";
  store->files["s3://bucket/model/model-00002-of-00002.safetensors"] = "x";
  store->files["s3://bucket/model-of-others/weights"] = "x";
  ASSERT_TRUE(checkWritable(target).isOk());
  EXPECT_EQ(store->files.size(), 3u);
  auto directory = ExportDirectory::create(target);
  ASSERT_TRUE(bool(directory)) << directory.message();
  ASSERT_TRUE(writeTextFile(directory->path() / "config.json", "{1}").isOk());
  ASSERT_TRUE(directory->commit().isOk());
  EXPECT_EQ(store->files.size(), 2u);
  EXPECT_EQ(store->files.at("s3://bucket/model/config.json"), "{1}");

  { // an export that fails leaves nothing that looks like a model
    auto failing = ExportDirectory::create(target);
    ASSERT_TRUE(bool(failing));
    ASSERT_TRUE(
        writeTextFile(failing->path() / "model.safetensors", "x").isOk());
  }
  EXPECT_EQ(store->files.size(), 1u);

  store->files["s3://bucket/model/notes.txt"] = "mine";
  EXPECT_NE(checkWritable(target).message().find("would delete its"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::checkpoint
