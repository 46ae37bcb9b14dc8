// Quantized weights in the layouts that other programs publish, byte by byte:
// what they stand for, and what is refused.

#include "runtime/checkpoint/quantized/StoredWeights.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

/// A tensor of a file that is written.
struct Tensor {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::string data;
};

void writeModel(const TestFolder& folder, const std::string& config,
                const std::vector<Tensor>& tensors) {
  std::string header = "{", data;
  for (const Tensor& tensor : tensors) {
    std::string shape;
    for (int64_t size : tensor.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header += (header.size() > 1 ? ",\"" : "\"") + tensor.name +
              R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)" + shape +
              R"(],"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.data.size()) + "]}";
    data += tensor.data;
  }
  folder.write("model.safetensors", safetensorsBytes(header + "}", data));
  folder.write("config.json", config);
}

std::string bytes(std::vector<uint8_t> values) {
  return bytesOf(values);
}

/// Reads `X.weight`, two rows at a time.
Expected<std::vector<float>> readAll(const TestFolder& folder) {
  Expected<ModelFiles> model = ModelFiles::open(folder.path());
  RECIPERUN_TRY(model);
  Expected<StoredWeights> weights = StoredWeights::open(*model);
  RECIPERUN_TRY(weights);
  const StoredWeight* weight = weights->find("X.weight");
  if (!weight)
    return Status::error("no weight");
  Expected<StoredWeightReader> reader = StoredWeightReader::open(*weight);
  RECIPERUN_TRY(reader);
  std::vector<float> values(size_t(weight->rows * weight->columns));
  for (int64_t row = 0; row < weight->rows; row += 2) {
    const int64_t count = std::min<int64_t>(2, weight->rows - row);
    RECIPERUN_TRY(reader->readRows(
        row, count,
        std::span(values).subspan(size_t(row * weight->columns),
                                  size_t(count * weight->columns))));
  }
  return values;
}

void expectValues(const TestFolder& folder, const std::vector<float>& values) {
  auto read = readAll(folder);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(*read, values);
}

std::string compressed(const std::string& format, const std::string& weights) {
  return R"({"quantization_config": {"quant_method": "compressed-tensors",
    "format": ")" +
         format + R"(", "config_groups": {"group_0": {"targets": ["Linear"],
    "weights": )" +
         weights + R"(, "input_activations": null}}, "ignore": ["lm_head"]}})";
}

// 0x38 is 1, 0x40 is 2, 0xb8 is -1, 0x01 is 2^-9, 0x7e is 448.

TEST(StoredWeights, ReadNativeFp8InBlocks) {
  TestFolder folder;
  std::vector<uint8_t> data(130 * 3, 0x38);
  data[0] = 0x7e;
  data[389] = 0xb8;
  writeModel(folder,
             R"({"quantization_config": {"quant_method": "fp8",
              "activation_scheme": "dynamic", "weight_block_size": [128, 2]}})",
             {{"X.weight", "F8_E4M3", {130, 3}, bytes(data)},
              {"X.weight_scale_inv",
               "F32",
               {2, 2},
               bytesOf(std::vector<float>{0.5f, 2, 3, 4})}});
  auto read = readAll(folder);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ((*read)[0], 224);
  EXPECT_EQ((*read)[2], 2);
  EXPECT_EQ((*read)[128 * 3], 3);
  EXPECT_EQ((*read)[389], -4);
}

TEST(StoredWeights, ReadFloatsOfCompressedTensors) {
  const std::string config =
      compressed("float-quantized",
                 R"({"num_bits": 8, "type": "float", "strategy": "tensor",
          "symmetric": true})");
  const Tensor weight = {
      "X.weight", "F8_E4M3", {2, 2}, bytes({0x38, 0x40, 0x01, 0x7e})};
  {
    TestFolder folder; // BF16, as llm-compressor writes it
    writeModel(folder, config,
               {weight,
                {"X.input_scale", "BF16", {1}, bytes({0x80, 0x3f})},
                {"X.weight_scale", "BF16", {1}, bytes({0, 0x40})}});
    expectValues(folder, {2, 4, 0x1p-8f, 896});
  }
  TestFolder folder; // channel
  writeModel(
      folder, config,
      {weight,
       {"X.weight_scale", "F32", {2, 1}, bytesOf(std::vector<float>{1, 4})}});
  expectValues(folder, {1, 2, 0x1p-7f, 1792});
}

TEST(StoredWeights, ReadIntegersOfCompressedTensors) {
  TestFolder folder;
  writeModel(folder,
             compressed("int-quantized",
                        R"({"num_bits": 8, "type": "int",
                            "strategy": "channel"})"),
             {{"X.weight", "I8", {2, 2}, bytes({1, 0xff, 127, 0x80})},
              {"X.weight_scale",
               "F32",
               {2, 1},
               bytesOf(std::vector<float>{2, 0.5f})}});
  expectValues(folder, {2, -2, 63.5f, -64});
}

TEST(StoredWeights, ReadPackedInt4) {
  TestFolder folder;
  // The word 0x76543210 holds 0, 1, ... from its lowest half byte on, each
  // with an offset of 8; the last word of a row is padded.
  writeModel(
      folder,
      compressed("pack-quantized",
                 R"({"num_bits": 4, "type": "int", "group_size": 5,
                            "strategy": "group", "symmetric": true})"),
      {{"X.weight_packed",
        "I32",
        {1, 2},
        bytesOf(std::vector<int32_t>{0x76543210, 0x000000f8})},
       {"X.weight_scale", "F32", {1, 2}, bytesOf(std::vector<float>{1, 2})},
       {"X.weight_shape", "I64", {2}, bytesOf(std::vector<int64_t>{1, 10})}});
  expectValues(folder, {-8, -7, -6, -5, -4, -6, -4, -2, 0, 14});
}

TEST(StoredWeights, ReadPackedInt8) {
  TestFolder folder;
  writeModel(
      folder,
      compressed("pack-quantized",
                 R"({"num_bits": 8, "type": "int",
                            "strategy": "channel"})"),
      {{"X.weight_packed", "I32", {1, 1}, bytes({0, 127, 128, 255})},
       {"X.weight_scale", "BF16", {1, 1}, bytes({0, 0x40})},
       {"X.weight_shape", "I32", {2}, bytesOf(std::vector<int32_t>{1, 4})}});
  expectValues(folder, {-256, -2, 0, 254});
}

TEST(StoredWeights, ReadModelOpt) {
  const std::string quantization =
      R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": )";
  {
    TestFolder folder;
    writeModel(folder, "{}",
               {{"X.weight", "F8_E4M3", {1, 2}, bytes({0x38, 0xb8})},
                {"X.input_scale", "F32", {}, bytesOf(std::vector<float>{9})},
                {"X.weight_scale", "F32", {}, bytesOf(std::vector<float>{3})}});
    folder.write("hf_quant_config.json",
                 quantization + R"("FP8", "kv_cache_quant_algo": null}})");
    expectValues(folder, {3, -3});
  }
  TestFolder folder; // rows 0 and 1 in the halves of a byte, two's complement
  writeModel(folder, "{}",
             {{"X.weight", "U8", {1, 4}, bytes({0x10, 0xf7, 0x88, 0x2e})},
              {"X.weight_scale",
               "F32",
               {2, 2},
               bytesOf(std::vector<float>{1, 2, 3, 4})},
              {"X.pre_quant_scale",
               "F32",
               {4},
               bytesOf(std::vector<float>{1, 1, 1, 0.5f})}});
  folder.write("hf_quant_config.json",
               quantization + R"("W4A16_AWQ", "group_size": 2}})");
  expectValues(folder, {0, 7, -16, -2, 3, -3, -32, 4});
}

TEST(StoredWeights, FindNoneWithoutADescription) {
  TestFolder folder;
  writeModel(folder, "{}", {{"X.weight", "BF16", {1, 1}, bytes({0, 0x40})}});
  auto model = ModelFiles::open(folder.path());
  ASSERT_TRUE(model);
  auto weights = StoredWeights::open(*model);
  ASSERT_TRUE(weights);
  EXPECT_TRUE(weights->empty());
  EXPECT_FALSE(weights->isAuxiliary("X.weight_scale"));
}

void expectRefusal(const std::string& config,
                   const std::vector<Tensor>& tensors,
                   const std::string& text) {
  TestFolder folder;
  writeModel(folder, config, tensors);
  auto read = readAll(folder);
  ASSERT_FALSE(read);
  EXPECT_NE(read.status().message().find(text), std::string::npos)
      << read.status().message();
}

const std::vector<Tensor> plainFp8 = {
    {"X.weight", "F8_E4M3", {1, 1}, bytes({0x38})}};

TEST(StoredWeights, RefuseOtherMethods) {
  expectRefusal(
      R"({"quantization_config": {"quant_method": "gptq"}})", plainFp8,
      "config.json`: quantization_config.quant_method = `gptq` is not "
      "supported, only `fp8`, `compressed-tensors` and `modelopt`");
  expectRefusal(compressed("nvfp4-pack-quantized", "{}"), plainFp8,
                "format = `nvfp4-pack-quantized` is not supported");
  expectRefusal(
      compressed("pack-quantized", R"({"type": "int", "num_bits": 3})"),
      plainFp8, "group_0.weights.num_bits = `3` is not supported, only `4`");
  expectRefusal(
      compressed("pack-quantized",
                 R"({"type": "int", "num_bits": 4, "strategy": "group",
                     "symmetric": false})"),
      plainFp8, "symmetric = `false` is not supported, only `true`");
  expectRefusal(R"({"quantization_config": {"quant_method": "modelopt",
                    "quant_algo": "NVFP4"}})",
                plainFp8, "quant_algo = `NVFP4` is not supported");
}

TEST(StoredWeights, RefuseDamagedTensors) {
  const std::string config =
      R"({"quantization_config": {"quant_method": "fp8"}})";
  expectRefusal(config, plainFp8,
                "is quantized, and `X.weight_scale` is missing");
  std::vector<Tensor> tensors = plainFp8;
  tensors.push_back(
      {"X.weight_scale", "F32", {3}, bytesOf(std::vector<float>{1, 2, 3})});
  expectRefusal(config, tensors, "has 3 scales for a matrix of 1 x 1");
  tensors.back() = {
      "X.weight_scale", "I32", {1}, bytesOf(std::vector<int32_t>{1})};
  expectRefusal(config, tensors, "has dtype `I32`, expected `F32`");
  expectRefusal(
      compressed("pack-quantized",
                 R"({"num_bits": 4, "type": "int",
                               "strategy": "channel"})"),
      {{"X.weight_packed",
        "I32",
        {1, 3},
        bytesOf(std::vector<int32_t>{1, 2, 3})},
       {"X.weight_scale", "F32", {1}, bytesOf(std::vector<float>{1})},
       {"X.weight_shape", "I64", {2}, bytesOf(std::vector<int64_t>{1, 8})}},
      "which is neither of int8 nor of int4");
}

} // namespace
} // namespace reciperun::checkpoint
