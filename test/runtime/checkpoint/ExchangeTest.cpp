// Import and export of a small model: bits survive, the layout does not matter,
// and a mismatch is refused before anything changes.

#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/checkpoint/HuggingFaceImport.h"

#include "runtime/checkpoint/GradientDump.h"
#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/checkpoint/TokenizerFiles.h"
#include "runtime/comm/LocalCommunicator.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/plan/Mesh.h"
#include "test/runtime/Says.h"

#include "TestFolder.h"
#include "ThreadRanks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace reciperun::checkpoint {
namespace {

struct Shape {
  const char* name;
  std::vector<int64_t> whole;
  std::vector<std::string> axes;
  std::vector<int64_t> stored;
};

/// A plan with parameters only: an embedding split by rows, a projection split
/// in the middle dimension, an output split by columns, and a replicated norm.
plan::Plan planOf(plan::DType type, int dp, int tp) {
  plan::Plan plan;
  plan.stages.resize(1);
  plan.compute = type;
  plan.mesh.axes = {{"dp", dp}, {"tp", tp}};
  plan.mesh.ranks = dp * tp;
  plan.exchange.config = R"({"hidden_size": 6})";
  const Shape shapes[] = {
      {"embed.weight", {8, 6}, {"tp", ""}, {8, 6}},
      {"q.weight", {4, 2, 6}, {"tp", "", ""}, {8, 6}},
      {"o.weight", {6, 4, 2}, {"", "tp", ""}, {6, 8}},
      {"norm.weight", {6}, {""}, {6}},
  };
  for (const Shape& shape : shapes) {
    plan::Parameter parameter;
    parameter.name = parameter.hfName = shape.name;
    parameter.globalShape = shape.whole;
    parameter.stages = {0};
    parameter.shardAxes = shape.axes;
    parameter.hfShape = shape.stored;
    plan::Buffer buffer;
    buffer.dtype = type;
    buffer.offset = plan.stages[0].memory.arena;
    for (size_t i = 0; i < shape.whole.size(); ++i)
      buffer.shape.push_back(shape.whole[i] /
                             plan::axisSize(plan.mesh, shape.axes[i]));
    plan.stages[0].memory.arena +=
        (plan::elementCount(buffer.shape) * plan::byteSize(type) + 63) / 64 *
        64;
    const int value = int(plan.stages[0].buffers.size());
    plan.stages[0].holdings.push_back(
        {int(plan.parameters.size()), value, value});
    plan.stages[0].buffers.push_back(buffer);
    plan.parameters.push_back(parameter);
  }
  return plan;
}

/// Adds a rank-2 LoRA adapter on `q.weight`: two parameters after the others.
void adapt(plan::Plan& plan) {
  const Shape shapes[] = {
      {"base_model.model.q.lora_A.weight", {2, 6}, {"", ""}, {2, 6}},
      {"base_model.model.q.lora_B.weight", {4, 2, 2}, {"tp", "", ""}, {8, 2}},
  };
  plan.parameters[1].loraA = 4;
  plan.parameters[1].loraB = 5;
  plan.parameters[1].loraScale = 0.5;
  plan.exchange.adapterConfig = "{\"peft_type\": \"LORA\"}\n";
  int64_t tp = plan::axisSize(plan.mesh, "tp");
  for (const Shape& shape : shapes) {
    plan::Parameter parameter;
    parameter.name = parameter.hfName = shape.name;
    parameter.globalShape = shape.whole;
    parameter.stages = {0};
    parameter.shardAxes = shape.axes;
    parameter.hfShape = shape.stored;
    parameter.adapter = true;
    plan::Buffer buffer;
    buffer.dtype = plan.compute;
    buffer.offset = plan.stages[0].memory.arena;
    buffer.shape = shape.whole;
    if (shape.axes[0] == "tp")
      buffer.shape[0] /= tp;
    plan.stages[0].memory.arena += 128;
    plan.stages[0].holdings.push_back(
        {int(plan.parameters.size()), int(plan.stages[0].buffers.size()), -1});
    plan.stages[0].buffers.push_back(buffer);
    plan.parameters.push_back(parameter);
  }
}

constexpr std::string_view header =
    R"({"embed.weight":{"dtype":"BF16","shape":[8,6],"data_offsets":[0,96]},)"
    R"("q.weight":{"dtype":"BF16","shape":[8,6],"data_offsets":[96,192]},)"
    R"("o.weight":{"dtype":"BF16","shape":[6,8],"data_offsets":[192,288]},)"
    R"("norm.weight":{"dtype":"BF16","shape":[6],"data_offsets":[288,300]}})";

/// Distinct bit patterns of finite numbers, including subnormal ones.
std::string patterns() {
  std::vector<uint16_t> bits;
  for (int i = 0; bits.size() < 150; ++i)
    if (auto next = uint16_t(0x7f70 + i * 331); (next & 0x7f80) != 0x7f80)
      bits.push_back(next);
  return bytesOf(bits);
}

void writeModel(const TestFolder& folder, std::string_view fileHeader = header,
                const std::string& data = patterns()) {
  folder.write("in/config.json", R"({"hidden_size": 6})");
  folder.write("in/model.safetensors", safetensorsBytes(fileHeader, data));
}

/// The data of a file's tensors, in the order of the plan.
std::string dataOf(const std::filesystem::path& directory,
                   const plan::Plan& plan) {
  auto model = ModelFiles::open(directory);
  EXPECT_TRUE(model) << model.message();
  std::string data;
  for (const plan::Parameter& parameter : plan.parameters) {
    if (parameter.adapter)
      continue;
    auto place = model->find(parameter.hfName);
    std::string bytes(size_t(place->tensor->end - place->tensor->begin), 0);
    EXPECT_TRUE(
        place->file
            ->read(*place->tensor, 0, std::as_writable_bytes(std::span(bytes)))
            .isOk());
    data += bytes;
  }
  return data;
}

/// Imports `in`, then exports to `out`, on every rank of the plan.
void passThrough(const plan::Plan& plan, const TestFolder& folder,
                 const ExportOptions& options = {}) {
  runRanks(plan.mesh.ranks, [&](comm::Communicator& communicator) {
    std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
    device::CpuDevice device(1);
    ArenaParameters access(plan, communicator.rank(), arena.data(), device);
    Status loaded =
        loadHuggingFace(plan, communicator.rank(), folder / "in", access);
    EXPECT_TRUE(loaded.isOk()) << loaded.message();
    Status written =
        exportHuggingFace(plan, access, communicator, folder / "out", options);
    EXPECT_TRUE(written.isOk()) << written.message();
  });
}

TEST(Exchange, RoundTripIsBitExactOnEveryLayout) {
  for (auto [dp, tp] : {std::pair(1, 1), {1, 2}, {2, 1}, {2, 2}}) {
    TestFolder folder;
    writeModel(folder);
    plan::Plan plan = planOf(plan::DType::bf16, dp, tp);
    passThrough(plan, folder);
    EXPECT_EQ(dataOf(folder / "out", plan), patterns())
        << "dp " << dp << ", tp " << tp;
    EXPECT_EQ(readBytes(folder / "out/config.json"), plan.exchange.config);
  }
}

TEST(Exchange, TheFileDoesNotDependOnTheLayout) {
  std::string first;
  for (int tp : {1, 2, 4}) {
    TestFolder folder;
    writeModel(folder);
    passThrough(planOf(plan::DType::bf16, 1, tp), folder);
    std::string bytes = readBytes(folder / "out/model.safetensors");
    if (first.empty())
      first = bytes;
    EXPECT_EQ(bytes, first) << "tp " << tp;
  }
}

TEST(Exchange, SplitsIntoFilesThatItReads) {
  TestFolder folder;
  writeModel(folder);
  plan::Plan plan = planOf(plan::DType::bf16, 1, 2);
  passThrough(plan, folder, {.maxFileBytes = 200});
  EXPECT_TRUE(
      std::filesystem::exists(folder / "out/model-00002-of-00002.safetensors"));
  EXPECT_EQ(dataOf(folder / "out", plan), patterns());
}

TEST(Exchange, ReadsWindowsOfLargeTensors) {
  // 3 MiB per tensor: windows end inside rows, and runs are both short and
  // long.
  for (const std::vector<std::string>& axes :
       {std::vector<std::string>{"tp", ""}, {"", "tp"}}) {
    TestFolder folder;
    plan::Plan plan = planOf(plan::DType::f32, 1, 2);
    plan.parameters.resize(1);
    plan.stages[0].holdings.resize(1);
    plan.stages[0].buffers.resize(1);
    plan.parameters[0].globalShape = plan.parameters[0].hfShape = {768, 1024};
    plan.parameters[0].shardAxes = axes;
    plan.stages[0].memory.arena = 768 * 1024 * 4 / 2;
    std::vector<float> values(768 * 1024);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i);
    writeModel(folder,
               R"({"embed.weight":{"dtype":"F32","shape":[768,1024],)"
               R"("data_offsets":[0,3145728]}})",
               bytesOf(values));
    passThrough(plan, folder);
    EXPECT_TRUE(dataOf(folder / "out", plan) == bytesOf(values)) << axes[0];
  }
}

TEST(Exchange, MergesLoraAndWritesTheAdapter) {
  std::string first;
  for (int tp : {1, 2}) {
    TestFolder folder;
    plan::Plan plan = planOf(plan::DType::f32, 1, tp);
    adapt(plan);
    std::vector<float> values(150, 1.0f);
    writeModel(folder,
               R"({"embed.weight":{"dtype":"F32","shape":[8,6],)"
               R"("data_offsets":[0,192]},"q.weight":{"dtype":"F32",)"
               R"("shape":[8,6],"data_offsets":[192,384]},"o.weight":)"
               R"({"dtype":"F32","shape":[6,8],"data_offsets":[384,576]},)"
               R"("norm.weight":{"dtype":"F32","shape":[6],)"
               R"("data_offsets":[576,600]}})",
               bytesOf(values));
    runRanks(tp, [&](comm::Communicator& communicator) {
      int rank = communicator.rank();
      std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
      device::CpuDevice device(1);
      ArenaParameters access(plan, rank, arena.data(), device);
      ASSERT_TRUE(loadHuggingFace(plan, rank, folder / "in", access).isOk());
      // A[r, i] = i + 10 r; B[o, r] = o - r, where the rank holds its rows of
      // B.
      std::vector<float> a, b;
      for (int r = 0; r < 2; ++r)
        for (int i = 0; i < 6; ++i)
          a.push_back(float(i + 10 * r));
      for (int o = rank * 8 / tp; o < (rank + 1) * 8 / tp; ++o)
        for (int r = 0; r < 2; ++r)
          b.push_back(float(o - r));
      ASSERT_TRUE(
          access.write(4, Content::value, 0, std::as_bytes(std::span(a)))
              .isOk());
      ASSERT_TRUE(
          access.write(5, Content::value, 0, std::as_bytes(std::span(b)))
              .isOk());
      Status written =
          exportHuggingFace(plan, access, communicator, folder / "out");
      ASSERT_TRUE(written.isOk()) << written.message();
    });
    std::vector<float> merged(150);
    std::string data = dataOf(folder / "out", plan);
    ASSERT_EQ(data.size(), 600u);
    std::memcpy(merged.data(), data.data(), data.size());
    for (int o = 0; o < 8; ++o)
      for (int i = 0; i < 6; ++i)
        EXPECT_EQ(merged[size_t(48 + o * 6 + i)],
                  1 + 0.5f * float(o * i + (o - 1) * (i + 10)));
    EXPECT_EQ(readBytes(folder / "out/adapter/adapter_config.json"),
              plan.exchange.adapterConfig);
    auto adapter =
        SafetensorsFile::open(folder / "out/adapter/adapter_model.safetensors");
    ASSERT_TRUE(adapter) << adapter.message();
    ASSERT_EQ(adapter->tensors().size(), 2u);
    EXPECT_EQ(adapter->tensors()[1].shape, (std::vector<int64_t>{8, 2}));
    std::string bytes =
        readBytes(folder / "out/adapter/adapter_model.safetensors");
    if (first.empty())
      first = bytes;
    EXPECT_EQ(bytes, first);
  }
}

TEST(Exchange, DumpsGradientsUnderTheirNames) {
  TestFolder folder;
  writeModel(folder);
  plan::Plan plan = planOf(plan::DType::bf16, 1, 2);
  runRanks(2, [&](comm::Communicator& communicator) {
    std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
    device::CpuDevice device(1);
    ArenaParameters access(plan, communicator.rank(), arena.data(), device);
    ASSERT_TRUE(
        loadHuggingFace(plan, communicator.rank(), folder / "in", access)
            .isOk());
    // Values and gradients share buffers in this test.
    ASSERT_TRUE(dumpGradients(plan, access, communicator, folder / "g").isOk());
  });
  auto file = SafetensorsFile::open(folder / "g");
  ASSERT_TRUE(file) << file.message();
  std::string q(96, 0);
  ASSERT_TRUE(file->read(*file->find("q.weight"), 0,
                         std::as_writable_bytes(std::span(q)))
                  .isOk());
  EXPECT_EQ(q, patterns().substr(96, 96));
}

TEST(Exchange, DumpsGradientsOfEachExpert) {
  TestFolder folder;
  writeModel(folder);
  plan::Plan plan = planOf(plan::DType::bf16, 1, 2);
  runRanks(2, [&](comm::Communicator& communicator) {
    std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
    device::CpuDevice device(1);
    ArenaParameters access(plan, communicator.rank(), arena.data(), device);
    ASSERT_TRUE(
        loadHuggingFace(plan, communicator.rank(), folder / "in", access)
            .isOk());
    plan::Plan experts = plan;
    experts.parameters[1].hfName = "experts.{expert}.weight";
    experts.parameters[1].hfShape = {2, 6};
    ASSERT_TRUE(
        dumpGradients(experts, access, communicator, folder / "g").isOk());
  });
  auto file = SafetensorsFile::open(folder / "g");
  ASSERT_TRUE(file) << file.message();
  const StoredTensor* last = file->find("experts.3.weight");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->shape, (std::vector<int64_t>{2, 6}));
  std::string bytes(24, 0);
  ASSERT_TRUE(
      file->read(*last, 0, std::as_writable_bytes(std::span(bytes))).isOk());
  EXPECT_EQ(bytes, patterns().substr(96 + 72, 24));
}

// ---- refusals

/// The message of an import of `in` that must fail and leave the arena
/// unchanged.
std::string refusal(const TestFolder& folder,
                    plan::Plan plan = planOf(plan::DType::f32, 1, 1)) {
  std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena),
                               std::byte(0x5a));
  device::CpuDevice device(1);
  ArenaParameters access(plan, 0, arena.data(), device);
  Status status = loadHuggingFace(plan, 0, folder / "in", access);
  EXPECT_FALSE(status.isOk());
  for (std::byte byte : arena)
    EXPECT_EQ(byte, std::byte(0x5a));
  return status.message();
}

TEST(Exchange, RefusesAWrongShape) {
  TestFolder folder;
  std::string other(header);
  other.replace(other.find("[6,8]"), 5, "[8,6]");
  writeModel(folder, other);
  std::string message = refusal(folder);
  EXPECT_NE(message.find("model.safetensors`: tensor `o.weight` has shape "
                         "[8, 6], expected [6, 8]"),
            std::string::npos)
      << message;
}

TEST(Exchange, RefusesAWrongDtype) {
  TestFolder folder;
  std::string other(header);
  other.replace(other.rfind("BF16"), 4, "I16");
  writeModel(folder, other);
  std::string message = refusal(folder);
  EXPECT_NE(message.find("tensor `norm.weight` has dtype `I16`, expected"),
            std::string::npos)
      << message;
}

TEST(Exchange, ListsMissingTensors) {
  TestFolder folder;
  std::string other(header);
  other.replace(other.find("q.weight"), 8, "q.wait");
  other.replace(other.find("norm.weight"), 11, "norm.wait");
  writeModel(folder, other);
  std::string message = refusal(folder);
  EXPECT_NE(message.find("lacks 2 of the model's tensors: `q.weight`, "
                         "`norm.weight`"),
            std::string::npos)
      << message;
}

TEST(Exchange, RefusesTensorsWithoutAPlace) {
  TestFolder folder;
  plan::Plan plan = planOf(plan::DType::f32, 1, 1);
  plan.parameters.pop_back();
  plan.stages[0].holdings.pop_back();
  writeModel(folder);
  std::string message = refusal(folder, plan);
  EXPECT_NE(message.find("has no place for: `norm.weight`"), std::string::npos)
      << message;
}

TEST(Exchange, LeavesOutWhatIsKnownAnyway) {
  TestFolder folder;
  plan::Plan plan = planOf(plan::DType::f32, 1, 1);
  plan.parameters.pop_back();
  plan.stages[0].holdings.pop_back();
  std::string other(header);
  other.replace(other.find("norm.weight"), 11, "lm_head.weight");
  writeModel(folder, other);
  EXPECT_PRED2(says, refusal(folder, plan), "no place for: `lm_head.weight`");
  plan.exchange.config = R"({"hidden_size": 6, "tie_word_embeddings": true})";
  folder.write("in/config.json", plan.exchange.config);
  std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
  device::CpuDevice device(1);
  ArenaParameters access(plan, 0, arena.data(), device);
  Status status = loadHuggingFace(plan, 0, folder / "in", access);
  EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(Exchange, RefusesAnotherModelsConfig) {
  TestFolder folder;
  writeModel(folder);
  folder.write("in/config.json", R"({"hidden_size": 7})");
  EXPECT_NE(refusal(folder).find("`hidden_size` is 7"), std::string::npos);
}

TEST(Exchange, RefusesATruncatedFile) {
  TestFolder folder;
  writeModel(folder, header, patterns().substr(0, 290));
  std::string message = refusal(folder);
  EXPECT_NE(message.find("tensor `norm.weight`"), std::string::npos);
  EXPECT_NE(message.find("truncated"), std::string::npos) << message;
}

TEST(Exchange, AFailedExportIsToldToAllRanksAndLeavesTheOldOne) {
  TestFolder folder;
  writeModel(folder);
  plan::Plan plan = planOf(plan::DType::bf16, 1, 2);
  passThrough(plan, folder);
  plan::DataSource text;
  text.kind = "jsonl";
  text.path = "train.jsonl";
  plan.data.train = text;
  plan.data.tokenizer = (folder / "gone/tokenizer.json").string();
  runRanks(2, [&](comm::Communicator& communicator) {
    std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
    device::CpuDevice device(1);
    ArenaParameters access(plan, communicator.rank(), arena.data(), device);
    Status status =
        exportHuggingFace(plan, access, communicator, folder / "out");
    EXPECT_NE(status.message().find("gone/tokenizer.json"), std::string::npos);
  });
  EXPECT_EQ(dataOf(folder / "out", plan), patterns());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
}

/// The pattern with one value replaced: 50 is at row 0, column 2 of `q.weight`.
std::string patternsWith(size_t place, uint16_t bits) {
  std::string data = patterns();
  data.replace(place * 2, 2, bytesOf<uint16_t>({bits}));
  return data;
}

TEST(Exchange, RefusesToReadWeightsThatAreNotFinite) {
  const std::pair<uint16_t, const char*> values[] = {
      {0x7fc1, "NaN"}, {0x7f80, "infinity"}, {0xff80, "-infinity"}};
  for (auto [bits, name] : values) {
    TestFolder folder;
    writeModel(folder, header, patternsWith(50, bits));
    plan::Plan plan = planOf(plan::DType::f32, 1, 1);
    std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
    device::CpuDevice device(1);
    ArenaParameters access(plan, 0, arena.data(), device);
    const std::string message =
        loadHuggingFace(plan, 0, folder / "in", access).message();
    EXPECT_NE(message.find("tensor `q.weight` of shape [8, 6] has " +
                           std::string(name) + " at [0, 2], and 1 value that"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("model.safetensors"), std::string::npos);
  }
}

TEST(Exchange, RefusesToWriteWeightsThatAreNotFinite) {
  TestFolder folder;
  writeModel(folder);
  plan::Plan plan = planOf(plan::DType::bf16, 1, 2);
  passThrough(plan, folder);
  runRanks(2, [&](comm::Communicator& communicator) {
    std::vector<std::byte> arena(size_t(plan.stages[0].memory.arena));
    // The last element of this rank's half of `embed.weight`.
    const uint16_t nan = 0xffff;
    std::memcpy(arena.data() + 46, &nan, sizeof nan);
    device::CpuDevice device(1);
    ArenaParameters access(plan, communicator.rank(), arena.data(), device);
    Status status =
        exportHuggingFace(plan, access, communicator, folder / "out");
    EXPECT_NE(status.message().find("tensor `embed.weight` of shape [8, 6] has "
                                    "NaN at [3, 5], and 2 values that are"),
              std::string::npos)
        << status.message();
  });
  EXPECT_EQ(dataOf(folder / "out", plan), patterns());
}

/// A link may point to any file of the machine. Export does not copy a file
/// whose contents do not match its name.
TEST(Exchange, CopiesNothingThatIsNoTokenizer) {
  constexpr std::string_view tokenizer = R"({"model":{"vocab":{"a":0}}})";
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"tokenizer.json", "root:x:0:0\n", "no JSON from here on"},
      {"tokenizer.json", "{}", "there is no `model`"},
      {"tokenizer.json", "[1]", "it is no JSON object"},
      {"tokenizer_config.json", "[1]", "it is no JSON object"},
      {"special_tokens_map.json", "secret", "no JSON from here on"},
      {"chat_template.jinja", "root:x:0:0\n", "it is no Jinja template"}};
  for (const auto& [name, text, message] : cases) {
    TestFolder folder;
    folder.write("t/tokenizer.json", tokenizer);
    folder.write("blobs/1", text);
    std::filesystem::remove(folder / "t" / name);
    std::filesystem::create_symlink("../blobs/1", folder / "t" / name);
    plan::Data data;
    data.tokenizer = (folder / "t/tokenizer.json").string();
    folder.write("out/config.json", "");
    Status status = writeTokenizerFiles(data, folder / "out");
    EXPECT_NE(status.message().find(message), std::string::npos)
        << name << ": " << status.message();
    EXPECT_FALSE(std::filesystem::exists(folder / "out" / name));
    // Links are fine: Hugging Face's cache consists of them.
    folder.write("blobs/1", std::string_view(name).ends_with("jinja")
                                ? "{{ messages }}"
                                : tokenizer);
    EXPECT_TRUE(writeTokenizerFiles(data, folder / "out").isOk());
    EXPECT_TRUE(std::filesystem::is_regular_file(
        std::filesystem::symlink_status(folder / "out" / name)));
  }
}

TEST(Exchange, WritesTheTokenizerBesideTheModel) {
  TestFolder folder;
  writeModel(folder);
  constexpr std::string_view tokenizer =
      R"({"added_tokens":[{"id":1,"content":"<eos>"}],)"
      R"("model":{"vocab":{"<bos>":0,"a":2}}})";
  plan::Plan plan = planOf(plan::DType::bf16, 1, 1);
  plan.data.tokenizer = folder.write("t/tokenizer.json", tokenizer).string();
  plan.data.bosToken = 0;
  plan.data.eosToken = 1;
  passThrough(plan, folder);
  EXPECT_EQ(readBytes(folder / "out/tokenizer.json"), tokenizer);
  std::string config = readBytes(folder / "out/tokenizer_config.json");
  EXPECT_NE(config.find("\"bos_token\": \"<bos>\""), std::string::npos);
  EXPECT_NE(config.find("\"eos_token\": \"<eos>\""), std::string::npos);
  folder.write("t/tokenizer_config.json", "{\"kept\": 1}");
  passThrough(plan, folder);
  EXPECT_EQ(readBytes(folder / "out/tokenizer_config.json"), "{\"kept\": 1}");
}

} // namespace
} // namespace reciperun::checkpoint
