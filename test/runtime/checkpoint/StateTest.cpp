// State saved by the ranks of one layout and loaded by those of another.

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/RankFile.h"
#include "runtime/checkpoint/StateLoader.h"
#include "runtime/device/cpu/CpuDevice.h"

#include "StatePlan.h"
#include "TestFolder.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace reciperun::checkpoint {
namespace {

constexpr plan::DType bf16 = plan::DType::bf16;

const Layout layouts[] = {
    {},
    {1, 2, 1},
    {1, 1, 2},
    {1, 2, 2},
    {1, 4, 2},
    {1, 2, 2, /*shardState=*/false},
    {2, 1, 1},
    {2, 2, 2},
    {3, 3, 1},
    {1, 2, 2, true, bf16},
    {2, 1, 4, true, bf16},
};

const SaveId first = {"0123456789abcdef", 1};

/// Saves the ranks' state as a step of `folder`, the first one by default.
void save(const StateRanks& ranks, const std::filesystem::path& folder,
          const SaveId& saveId = first) {
  CheckpointFolder checkpoints(folder);
  ASSERT_TRUE(checkpoints.prepare().isOk());
  const std::filesystem::path aside = checkpoints.staging(saveId.step);
  std::filesystem::create_directories(aside);
  for (int rank = 0; rank < ranks.count(); ++rank) {
    RankFile file(ranks.plan(), rank);
    device::CpuDevice device(1);
    ArenaBuffers buffers(ranks.plan(), rank, ranks.arena(rank), device);
    if (file.isEmpty())
      continue;
    // Half of the ranks write from a copy, the others piece by piece.
    std::vector<std::byte> copy(size_t(file.dataBytes()));
    ASSERT_TRUE(file.copy(buffers, copy).isOk());
    Status written = rank % 2 ? file.write(aside, saveId, copy)
                              : file.write(aside, saveId, buffers);
    ASSERT_TRUE(written.isOk()) << written.message();
  }
  Manifest manifest = describeRun(ranks.plan(), saveId.run);
  manifest.position.step = saveId.step;
  Status published = checkpoints.publish(manifest, {});
  ASSERT_TRUE(published.isOk()) << published.message();
}

Status load(StateRanks& ranks, const std::filesystem::path& path,
            Take take = Take::all) {
  for (int rank = 0; rank < ranks.count(); ++rank) {
    auto reader = StateReader::open(path);
    RECIPERUN_TRY(reader);
    RECIPERUN_TRY(checkModel(ranks.plan(), *reader, take));
    device::CpuDevice device(1);
    ArenaBuffers buffers(ranks.plan(), rank, ranks.arena(rank), device);
    RECIPERUN_TRY(loadState(ranks.plan(), rank, *reader, take, buffers));
  }
  return Status::ok();
}

constexpr const char* firstStep = "step-00000001";

TEST(State, IsWrittenOnceByAllRanksTogether) {
  for (const Layout& layout : layouts) {
    plan::Plan plan = statePlan(layout);
    Manifest manifest = describeRun(plan);
    for (const SavedParameter& saved : manifest.parameters) {
      int64_t counts[3] = {};
      for (const Piece& piece : saved.pieces)
        counts[int(piece.kind)] += piece.count;
      int64_t whole = ShardLayout::whole(saved.shape).elements();
      EXPECT_EQ(counts[0], whole) << saved.name;
      int64_t moments = saved.name == "base" ? 0 : whole;
      EXPECT_EQ(counts[1], moments) << saved.name;
      EXPECT_EQ(counts[2], moments) << saved.name;
    }
  }
}

TEST(State, MovesBetweenAnyTwoLayouts) {
  for (const Layout& from : layouts) {
    TestFolder folder;
    StateRanks source(from);
    source.fill();
    ASSERT_EQ(source.wrong(), 0);
    save(source, folder.path());
    for (const Layout& to : layouts) {
      StateRanks target(to);
      EXPECT_GT(target.wrong(), 0) << "nothing is there before";
      Status status = load(target, folder / firstStep);
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(target.wrong(), 0)
          << "pp " << from.pp << " dp " << from.dp << " tp " << from.tp
          << " to pp " << to.pp << " dp " << to.dp << " tp " << to.tp;
    }
  }
}

TEST(State, HoldsMastersWholeHoweverTheyAreKept) {
  constexpr plan::DType f32 = plan::DType::f32, u16 = plan::DType::u16;
  const Layout narrow[] = {
      {1, 1, 1, true, bf16, f32},  {1, 2, 2, true, bf16, u16},
      {1, 2, 2, false, bf16, u16}, {2, 1, 4, true, bf16, f32},
      {3, 3, 1, true, bf16, u16},
  };
  for (const Layout& from : narrow) {
    TestFolder folder;
    StateRanks source(from);
    source.fillMasters();
    save(source, folder.path());
    for (const Layout& to : narrow) {
      StateRanks target(to);
      EXPECT_GT(target.wrongMasters(), 0) << "nothing is there before";
      Status status = load(target, folder / firstStep);
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(target.wrongMasters(), 0)
          << "dp " << from.dp << " tp " << from.tp << " to dp " << to.dp
          << " tp " << to.tp;
    }
  }
}

TEST(State, LeavesMomentsWhereWeightsAloneAreTaken) {
  TestFolder folder;
  StateRanks source({1, 2, 1});
  source.fill();
  save(source, folder.path());
  StateRanks target({1, 1, 2});
  ASSERT_TRUE(load(target, folder / firstStep, Take::weights).isOk());
  EXPECT_EQ(target.wrong(/*weightsAlone=*/true), 0);
  EXPECT_GT(target.wrong(), 0);
}

/// A checkpoint of two ranks whose files the test damages.
class DamagedState : public testing::Test {
protected:
  void SetUp() override {
    StateRanks source({1, 2, 1});
    source.fill();
    save(source, folder.path());
  }
  /// Makes the manifest one from before headers had checksums.
  void dropHeaderHashes() {
    auto manifest = readManifest(folder / firstStep);
    ASSERT_TRUE(manifest);
    for (SavedFile& file : manifest->files)
      file.header.clear();
    folder.write(std::string(firstStep) + "/manifest.json", toJson(*manifest));
  }
  /// Copies a file from another save of the same state into the checkpoint.
  void mix(const SaveId& other) {
    StateRanks source({1, 2, 1});
    source.fill();
    TestFolder from;
    save(source, from.path(), other);
    char step[32];
    std::snprintf(step, sizeof step, "step-%08d", int(other.step));
    const char* file = "rank-00001.safetensors";
    std::filesystem::copy_file(
        from / step / file, folder / firstStep / file,
        std::filesystem::copy_options::overwrite_existing);
  }
  std::string loaded() {
    StateRanks target({1, 1, 2});
    return load(target, folder / firstStep).message();
  }
  void replace(const std::string& file, const std::string& from,
               const std::string& to) {
    std::filesystem::path path = folder / firstStep / file;
    std::string text = readBytes(path);
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    std::ofstream(path, std::ios::binary) << text;
  }
  TestFolder folder;
};

TEST_F(DamagedState, NamesATruncatedFile) {
  std::filesystem::resize_file(folder / firstStep / "rank-00001.safetensors",
                               500);
  std::string message = loaded();
  EXPECT_NE(message.find("rank-00001.safetensors` has 500 bytes, the manifest"),
            std::string::npos)
      << message;
}

TEST_F(DamagedState, NamesAMissingFile) {
  std::filesystem::remove(folder / firstStep / "rank-00000.safetensors");
  std::string message = loaded();
  EXPECT_NE(message.find("cannot read"), std::string::npos) << message;
  EXPECT_NE(message.find("rank-00000.safetensors"), std::string::npos)
      << message;
}

TEST_F(DamagedState, NamesWhereBytesDiffer) {
  for (const char* file :
       {"rank-00000.safetensors", "rank-00001.safetensors"}) {
    const std::filesystem::path path = folder / firstStep / file;
    const std::string whole = readBytes(path);
    std::string damaged = whole;
    damaged.back() ^= 1;
    std::ofstream(path, std::ios::binary) << damaged;
    const std::string message = loaded();
    EXPECT_NE(message.find(std::string(file) + "` is damaged: bytes "),
              std::string::npos)
        << message;
    EXPECT_NE(
        message.find(" to " + std::to_string(whole.size()) + ", of tensor `"),
        std::string::npos)
        << message;
    std::ofstream(path, std::ios::binary) << whole;
    EXPECT_EQ(loaded(), "");
  }
}

TEST_F(DamagedState, RefusesFilesOfAnotherSave) {
  mix({"fedcba9876543210", 1});
  EXPECT_NE(loaded().find("rank-00001.safetensors` is of another run than the "
                          "manifest: `fedcba9876543210`, which is "
                          "`0123456789abcdef` there"),
            std::string::npos)
      << loaded();
  mix({first.run, 20});
  EXPECT_NE(loaded().find("is of another step than the manifest: 20, which is "
                          "1 there"),
            std::string::npos)
      << loaded();
}

TEST_F(DamagedState, FindsADamagedHeader) {
  replace("rank-00000.safetensors", "\"format\":\"pt\"", "\"format\":\"tf\"");
  EXPECT_NE(loaded().find("rank-00000.safetensors` is damaged: its header is "
                          "not the one that was written"),
            std::string::npos)
      << loaded();
}

TEST_F(DamagedState, LoadsOlderCheckpointsUnchecked) {
  dropHeaderHashes();
  EXPECT_EQ(loaded(), "");
}

TEST_F(DamagedState, NamesAnotherType) {
  dropHeaderHashes();
  replace("rank-00000.safetensors", "\"dtype\":\"F32\"", "\"dtype\":\"I32\"");
  std::string message = loaded();
  EXPECT_NE(message.find("as I32"), std::string::npos) << message;
  EXPECT_NE(message.find("not as the manifest says"), std::string::npos);
}

TEST_F(DamagedState, NamesAMissingPiece) {
  auto manifest = readManifest(folder / firstStep);
  ASSERT_TRUE(manifest);
  std::erase_if(manifest->parameters[1].pieces, [](const Piece& piece) {
    return piece.kind == StateKind::momentV && piece.file == 1;
  });
  folder.write(std::string(firstStep) + "/manifest.json", toJson(*manifest));
  std::string message = loaded();
  EXPECT_NE(message.find("lacks a piece of the second moments of `out`: no "
                         "file holds element"),
            std::string::npos)
      << message;
}

TEST_F(DamagedState, NamesMomentsThatAreNotThere) {
  auto manifest = readManifest(folder / firstStep);
  ASSERT_TRUE(manifest);
  std::erase_if(manifest->parameters[0].pieces, [](const Piece& piece) {
    return piece.kind == StateKind::momentM;
  });
  folder.write(std::string(firstStep) + "/manifest.json", toJson(*manifest));
  EXPECT_NE(loaded().find("holds no first moments of `embed`"),
            std::string::npos);
}

TEST_F(DamagedState, NamesTheFirstParameterThatTheModelHasNot) {
  auto manifest = readManifest(folder / firstStep);
  ASSERT_TRUE(manifest);
  manifest->parameters[1].name = "on";
  manifest->parameters[1].hfName = "hf.on";
  folder.write(std::string(firstStep) + "/manifest.json", toJson(*manifest));
  EXPECT_NE(loaded().find("is of another model: it lacks `out`"),
            std::string::npos)
      << loaded();
  manifest->parameters.push_back(manifest->parameters[1]);
  manifest->parameters[1].name = "out";
  folder.write(std::string(firstStep) + "/manifest.json", toJson(*manifest));
  EXPECT_NE(loaded().find("it holds `on`, which the recipe's model has no"),
            std::string::npos)
      << loaded();
}

TEST_F(DamagedState, NamesTheFirstParameterOfAnotherShape) {
  auto manifest = readManifest(folder / firstStep);
  ASSERT_TRUE(manifest);
  manifest->parameters[0].shape = {8, 6};
  for (Piece& piece : manifest->parameters[0].pieces)
    piece.block = {{8, 8, 0}, {6, 6, 0}};
  folder.write(std::string(firstStep) + "/manifest.json", toJson(*manifest));
  EXPECT_NE(loaded().find("`embed` has shape [8, 6] there, and [8, 5]"),
            std::string::npos)
      << loaded();
}

/// Two dimensions that a model names as their product, or the other way round.
TEST_F(DamagedState, LoadsDimensionsThatAreNamedApart) {
  auto manifest = readManifest(folder / firstStep);
  ASSERT_TRUE(manifest);
  ASSERT_EQ(manifest->parameters[0].shape, (std::vector<int64_t>{8, 5}));
  Manifest apart = *manifest;
  apart.parameters[0].shape = {2, 4, 5};
  for (Piece& piece : apart.parameters[0].pieces) {
    const ShardLayout::Dim rows = piece.block[0];
    piece.block = {{2, rows.local / 4, rows.first / 4}, {4, 4, 0}, {5, 5, 0}};
  }
  folder.write(std::string(firstStep) + "/manifest.json", toJson(apart));
  EXPECT_EQ(loaded(), "");
  apart.parameters[0].hfShape = {2, 20};
  folder.write(std::string(firstStep) + "/manifest.json", toJson(apart));
  EXPECT_NE(loaded().find("`embed` has shape [2, 4, 5] there, and [8, 5]"),
            std::string::npos)
      << loaded();
  // As many elements, in other dimensions.
  manifest->parameters[0].shape = {5, 8};
  for (Piece& piece : manifest->parameters[0].pieces)
    piece.block = {{5, 5, 0}, {8, 8, 0}};
  folder.write(std::string(firstStep) + "/manifest.json", toJson(*manifest));
  EXPECT_NE(loaded().find("`embed` has shape [5, 8] there, and [8, 5]"),
            std::string::npos)
      << loaded();
}

} // namespace
} // namespace reciperun::checkpoint
