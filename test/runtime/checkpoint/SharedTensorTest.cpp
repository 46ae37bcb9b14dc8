// Parameters that are rows of one tensor of a Hugging Face checkpoint: import,
// export and checkpoints, in every layout.

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/Convert.h"
#include "runtime/checkpoint/GradientDump.h"
#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/checkpoint/RankFile.h"
#include "runtime/checkpoint/StateLoader.h"
#include "runtime/comm/LocalCommunicator.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/RegionShards.h"

#include "StatePlan.h"
#include "TestFolder.h"
#include "ThreadRanks.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

struct Ranks {
  int dp = 1;
  int tp = 1;
  bool inParts = false; // a rank keeps no whole parameters (FSDP)

  std::string text() const {
    return "dp " + std::to_string(dp) + ", tp " + std::to_string(tp) +
           (inParts ? ", in parts" : "");
  }
};

const Ranks rankLayouts[] = {{},     {1, 2},       {2, 1},
                             {2, 2}, {2, 1, true}, {3, 2, true}};

int addBuffer(plan::Plan& plan, int64_t elements) {
  plan::Buffer buffer;
  buffer.dtype = plan.compute;
  buffer.shape = {elements};
  buffer.offset = plan.stages[0].memory.arena;
  plan.stages[0].memory.arena +=
      roundUp(elements * plan::byteSize(plan.compute), 64);
  plan.stages[0].buffers.push_back(buffer);
  return int(plan.stages[0].buffers.size()) - 1;
}

/// Lays parameters out as the compiler does; values and masters share memory.
void addRegion(plan::Plan& plan, std::vector<int> members,
               const std::string& shardAxis, bool inParts) {
  plan::Region region;
  region.parameters = members;
  region.shardAxis = shardAxis;
  for (int member : members) {
    region.starts.push_back(region.elements);
    region.elements += roundUp(
        plan::blockElements(plan.parameters[size_t(member)], plan.mesh), 32);
  }
  int64_t shards = plan::axisSize(plan.mesh, shardAxis);
  region.elements = roundUp(region.elements, 32 * shards);
  int64_t part = region.elements / shards;
  int buffer = addBuffer(plan, inParts ? part : region.elements);
  region.part = region.master = buffer;
  if (!inParts) {
    int64_t size = plan::byteSize(plan.compute);
    region.param = buffer;
    plan::Buffer view = plan.stages[0].buffers[size_t(buffer)];
    for (size_t i = 0; i < members.size(); ++i) {
      const plan::Parameter& parameter = plan.parameters[size_t(members[i])];
      const int number = int(plan.stages[0].buffers.size());
      plan.stages[0].holdings.push_back({members[i], number, number});
      plan::Buffer value = view;
      value.offset += region.starts[i] * size;
      value.shape = {plan::blockElements(parameter, plan.mesh)};
      plan.stages[0].buffers.push_back(value);
    }
    view.shape = {part};
    view.shardAxis = shardAxis;
    view.shardStride = part * size;
    region.part = region.master = int(plan.stages[0].buffers.size());
    plan.stages[0].buffers.push_back(view);
  }
  plan.stages[0].regions.push_back(std::move(region));
}

enum { t, z, normWeight, b };

/// `mix.weight` [12, 4] consists of three parameters, which the plan lists in
/// another order than their rows. A parameter between them is a whole tensor.
plan::Plan planOfRanks(const Ranks& ranks) {
  plan::Plan plan;
  plan.stages.resize(1);
  plan.compute = plan::DType::bf16;
  plan.mesh.axes = {{"dp", ranks.dp}, {"tp", ranks.tp}};
  plan.mesh.groups = {{"dp+tp", {"dp", "tp"}}};
  plan.mesh.ranks = ranks.dp * ranks.tp;
  plan.exchange.config = R"({"hidden_size": 4})";
  auto add = [&](const char* name, std::vector<int64_t> shape,
                 std::vector<std::string> axes, std::vector<int64_t> stored) {
    plan::Parameter parameter;
    parameter.name = parameter.hfName = name;
    parameter.globalShape = std::move(shape);
    parameter.stages = {0};
    parameter.shardAxes = std::move(axes);
    parameter.hfShape = std::move(stored);
    plan.parameters.push_back(std::move(parameter));
  };
  add("t.weight", {2, 4}, {"tp", ""}, {2, 4});
  add("z.weight", {2, 3, 4}, {"tp", "", ""}, {6, 4});
  add("norm.weight", {7}, {""}, {7});
  add("b.weight", {2, 2, 4}, {"tp", "", ""}, {4, 4});
  for (auto [number, first] : {std::pair(z, 0), {b, 6}, {t, 10}}) {
    plan.parameters[size_t(number)].hfName = "mix.weight";
    plan.parameters[size_t(number)].hfRows = plan::HfRows{first, 12};
  }
  addRegion(plan, {t, z, b}, "dp", ranks.inParts);
  addRegion(plan, {normWeight}, "dp+tp", ranks.inParts);
  return plan;
}

constexpr std::string_view header =
    R"({"norm.weight":{"dtype":"BF16","shape":[7],"data_offsets":[0,14]},)"
    R"("mix.weight":{"dtype":"BF16","shape":[12,4],"data_offsets":[14,110]}})";

/// Bytes of `norm.weight`, then `mix.weight`: distinct bit patterns.
std::string patterns() {
  std::vector<uint16_t> bits;
  for (int i = 0; i < 55; ++i)
    bits.push_back(uint16_t(0x3c01 + i * 331));
  return bytesOf(bits);
}

void writeModel(const TestFolder& folder,
                std::string_view fileHeader = header) {
  folder.write("in/config.json", R"({"hidden_size": 4})");
  folder.write("in/model.safetensors",
               safetensorsBytes(fileHeader, patterns()));
}

std::string dataOf(const std::filesystem::path& directory) {
  auto model = ModelFiles::open(directory);
  EXPECT_TRUE(model) << model.message();
  std::string data;
  for (const char* name : {"norm.weight", "mix.weight"}) {
    auto place = model->find(name);
    if (!place)
      return std::string("lacks ") + name;
    std::string bytes(size_t(place->tensor->end - place->tensor->begin), 0);
    EXPECT_TRUE(
        place->file
            ->read(*place->tensor, 0, std::as_writable_bytes(std::span(bytes)))
            .isOk());
    data += bytes;
  }
  return data;
}

/// Runs `body` on every rank with the parameters imported from `in`.
template <class Body>
void withModel(const plan::Plan& plan, const TestFolder& folder,
               const Body& body) {
  runRanks(plan.mesh.ranks, [&](comm::Communicator& communicator) {
    auto arena = memory::Arena::allocate(plan.stages[0].memory.arena);
    ASSERT_TRUE(arena) << arena.message();
    device::CpuDevice device(1);
    ArenaParameters access(plan, communicator.rank(), arena->base(), device);
    Status loaded =
        loadHuggingFace(plan, communicator.rank(), folder / "in", access);
    ASSERT_TRUE(loaded.isOk()) << loaded.message();
    body(communicator, access, *arena);
  });
}

void passThrough(const plan::Plan& plan, const TestFolder& folder,
                 const ExportOptions& options = {}) {
  withModel(plan, folder,
            [&](comm::Communicator& communicator, ArenaParameters& access,
                const memory::Arena&) {
              Status written = exportHuggingFace(plan, access, communicator,
                                                 folder / "out", options);
              EXPECT_TRUE(written.isOk()) << written.message();
            });
}

TEST(SharedTensor, GivesEachParameterItsRows) {
  TestFolder folder;
  writeModel(folder);
  plan::Plan plan = planOfRanks({});
  withModel(
      plan, folder,
      [&](comm::Communicator&, ArenaParameters& access, const memory::Arena&) {
        for (auto [number, row, rows] :
             {std::tuple(z, 0, 6), {b, 6, 4}, {t, 10, 2}}) {
          std::string bytes(size_t(rows * 8), 0);
          ASSERT_TRUE(access
                          .read(number, Content::value, 0,
                                std::as_writable_bytes(std::span(bytes)))
                          .isOk());
          EXPECT_EQ(bytes,
                    patterns().substr(size_t(14 + row * 8), bytes.size()))
              << plan.parameters[size_t(number)].name;
        }
      });
}

TEST(SharedTensor, RoundTripIsBitExactOnEveryLayout) {
  std::string first;
  for (const Ranks& ranks : rankLayouts) {
    TestFolder folder;
    writeModel(folder);
    passThrough(planOfRanks(ranks), folder);
    EXPECT_EQ(dataOf(folder / "out"), patterns()) << ranks.text();
    std::string bytes = readBytes(folder / "out/model.safetensors");
    if (first.empty())
      first = bytes;
    EXPECT_EQ(bytes, first) << ranks.text();
  }
}

TEST(SharedTensor, LiesInOneFile) {
  TestFolder folder;
  writeModel(folder);
  passThrough(planOfRanks({1, 2}), folder, {.maxFileBytes = 20});
  EXPECT_TRUE(
      std::filesystem::exists(folder / "out/model-00002-of-00002.safetensors"));
  EXPECT_EQ(dataOf(folder / "out"), patterns());
}

TEST(SharedTensor, OfGradientsIsDumpedWhole) {
  TestFolder folder;
  writeModel(folder);
  plan::Plan plan = planOfRanks({1, 2});
  withModel(
      plan, folder,
      [&](comm::Communicator& communicator, ArenaParameters& access,
          const memory::Arena&) {
        // Values and gradients share buffers in this test.
        ASSERT_TRUE(
            dumpGradients(plan, access, communicator, folder / "g").isOk());
      });
  auto file = SafetensorsFile::open(folder / "g");
  ASSERT_TRUE(file) << file.message();
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->find("mix.weight")->shape, (std::vector<int64_t>{12, 4}));
  std::string bytes(96, 0);
  ASSERT_TRUE(file->read(*file->find("mix.weight"), 0,
                         std::as_writable_bytes(std::span(bytes)))
                  .isOk());
  EXPECT_EQ(bytes, patterns().substr(14));
}

TEST(SharedTensor, OfAnotherSizeIsRefusedOnce) {
  TestFolder folder;
  plan::Plan plan = planOfRanks({});
  std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
  device::CpuDevice device(1);
  ArenaParameters access(plan, 0, arena.data(), device);
  std::string other(header);
  other.replace(other.find("[12,4]"), 6, "[16,3]");
  writeModel(folder, other);
  std::string message =
      loadHuggingFace(plan, 0, folder / "in", access).message();
  EXPECT_NE(message.find("tensor `mix.weight` has shape [16, 3], expected "
                         "[12, 4]"),
            std::string::npos)
      << message;
  other = header;
  other.replace(other.find("mix.weight"), 10, "mix.height");
  writeModel(folder, other);
  message = loadHuggingFace(plan, 0, folder / "in", access).message();
  EXPECT_NE(message.find("lacks 1 of the model's tensors: `mix.weight`"),
            std::string::npos)
      << message;
}

// ---- checkpoints

constexpr const char* name = "step-00000001";

/// Saves `in` as step 1 of `folder`.
void save(const TestFolder& folder, const Ranks& ranks) {
  plan::Plan plan = planOfRanks(ranks);
  CheckpointFolder checkpoints(folder.path());
  ASSERT_TRUE(checkpoints.prepare().isOk());
  std::filesystem::create_directories(checkpoints.staging(1));
  withModel(plan, folder,
            [&](comm::Communicator& communicator, ArenaParameters&,
                const memory::Arena& arena) {
              RankFile file(plan, communicator.rank());
              device::CpuDevice device(1);
              ArenaBuffers buffers(plan, communicator.rank(), arena, device);
              Status written = file.isEmpty()
                                   ? Status::ok()
                                   : file.write(checkpoints.staging(1),
                                                SaveId{"", 1}, buffers);
              ASSERT_TRUE(written.isOk()) << written.message();
            });
  Manifest manifest = describeRun(plan);
  manifest.position.step = 1;
  Status published = checkpoints.publish(manifest, {});
  ASSERT_TRUE(published.isOk()) << published.message();
}

/// Starts from a checkpoint on the ranks of a layout and exports to `out`.
void startFrom(const TestFolder& folder, const std::string& checkpoint,
               const Ranks& ranks) {
  plan::Plan plan = planOfRanks(ranks);
  runRanks(plan.mesh.ranks, [&](comm::Communicator& communicator) {
    int rank = communicator.rank();
    auto arena = memory::Arena::allocate(plan.stages[0].memory.arena);
    ASSERT_TRUE(arena) << arena.message();
    auto reader = StateReader::open(folder / checkpoint);
    ASSERT_TRUE(reader) << reader.message();
    Status fits = checkModel(plan, *reader, Take::weights);
    ASSERT_TRUE(fits.isOk()) << fits.message();
    device::CpuDevice device(1);
    ArenaBuffers buffers(plan, rank, *arena, device);
    Status loaded = loadState(plan, rank, *reader, Take::weights, buffers);
    ASSERT_TRUE(loaded.isOk()) << loaded.message();
    ArenaParameters access(plan, rank, arena->base(), device);
    Status written =
        exportHuggingFace(plan, access, communicator, folder / "out");
    ASSERT_TRUE(written.isOk()) << written.message();
  });
}

TEST(SharedTensor, GoesThroughCheckpointsBetweenLayouts) {
  for (const Ranks& from : rankLayouts) {
    TestFolder folder;
    writeModel(folder);
    save(folder, from);
    for (const Ranks& to : rankLayouts) {
      startFrom(folder, name, to);
      EXPECT_EQ(dataOf(folder / "out"), patterns())
          << from.text() << " to " << to.text();
    }
  }
}

TEST(SharedTensor, ConvertsBothWays) {
  TestFolder folder;
  writeModel(folder);
  save(folder, {2, 2, true});
  Status converted = checkpointToHuggingFace(folder / name, folder / "hf");
  ASSERT_TRUE(converted.isOk()) << converted.message();
  EXPECT_EQ(dataOf(folder / "hf"), patterns());
  converted = huggingFaceToCheckpoint(folder / "hf", folder / "saved");
  ASSERT_TRUE(converted.isOk()) << converted.message();
  // The manifest stores the tensor as one parameter; each of the plan's
  // parameters maps to its rows.
  for (const Ranks& to : rankLayouts) {
    startFrom(folder, "saved", to);
    EXPECT_EQ(dataOf(folder / "out"), patterns()) << to.text();
  }
  converted = checkpointToHuggingFace(folder / "saved", folder / "again");
  ASSERT_TRUE(converted.isOk()) << converted.message();
  EXPECT_EQ(readBytes(folder / "again/model.safetensors"),
            readBytes(folder / "hf/model.safetensors"));
}

/// A checkpoint whose manifest the test edits.
class EditedCheckpoint : public testing::Test {
protected:
  void SetUp() override {
    writeModel(folder);
    save(folder, {1, 2});
    auto read = readManifest(folder / name);
    ASSERT_TRUE(read) << read.message();
    manifest = *std::move(read);
  }
  void write() const {
    folder.write(std::string(name) + "/manifest.json", toJson(manifest));
  }
  std::string refusal() const {
    auto reader = StateReader::open(folder / name);
    EXPECT_TRUE(reader) << reader.message();
    return checkModel(planOfRanks({}), *reader, Take::weights).message();
  }

  TestFolder folder;
  Manifest manifest;
};

TEST_F(EditedCheckpoint, MayKnowTheRowsByOtherNames) {
  for (const char* file :
       {"rank-00000.safetensors", "rank-00001.safetensors"}) {
    // The new name has the same length, so that the header's size is unchanged.
    std::string path = std::string(name) + "/" + file;
    std::string bytes = readBytes(folder / path);
    for (size_t at = 0; (at = bytes.find(".weight", at)) != std::string::npos;)
      bytes.replace(at, 7, ".matrix");
    folder.write(path, bytes);
  }
  for (SavedParameter& saved : manifest.parameters)
    saved.name.replace(saved.name.find(".weight"), 7, ".matrix");
  Status sealed =
      sealFiles(manifest, folder / name); // hashes of the edited headers
  ASSERT_TRUE(sealed.isOk()) << sealed.message();
  write();
  startFrom(folder, name, {2, 1});
  EXPECT_EQ(dataOf(folder / "out"), patterns());
}

TEST_F(EditedCheckpoint, OfOtherRowsIsAnotherModel) {
  manifest.parameters[b].name = "other.weight";
  manifest.parameters[b].hfRows->first = 5;
  write();
  std::string message = refusal();
  EXPECT_NE(message.find("it lacks `b.weight` of the recipe's model"),
            std::string::npos)
      << message;
  Status converted = checkpointToHuggingFace(folder / name, folder / "hf");
  EXPECT_NE(converted.message().find(
                "tensor `mix.weight` has parameters up to row 6, and the next, "
                "`other.weight`, begins at row 5"),
            std::string::npos)
      << converted.message();
}

TEST_F(EditedCheckpoint, OfDamagedRowsIsNoCheckpoint) {
  std::string text = toJson(manifest);
  size_t at = text.find("\"first\":6");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 9, "\"first\":\"6\"");
  EXPECT_NE(parseManifest(text).message().find("hf_rows.first` is no integer"),
            std::string::npos)
      << parseManifest(text).message();
}

} // namespace
} // namespace reciperun::checkpoint
