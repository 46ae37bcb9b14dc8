// The format in which a server has the weights of a directory as they are.

#include "runtime/checkpoint/quantized/ServingFormat.h"

#include "runtime/checkpoint/quantized/QuantizeDirectory.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;
using Names = std::vector<std::string>;

/// A model whose `down_proj` has too few inputs for int4.
void writeSource(const TestFolder& folder) {
  folder.write("source/config.json", R"({"model_type": "llama"})");
  const std::vector<TensorSpec> specs = {
      {"lm_head.weight", "F32", {8, 128}},
      {"model.embed_tokens.weight", "F32", {8, 128}},
      {"model.layers.0.mlp.down_proj.weight", "F32", {128, 64}},
      {"model.layers.0.mlp.experts.0.w1.weight", "F32", {4, 64}},
      {"model.layers.0.mlp.up_proj.weight", "F32", {64, 128}},
      {"model.layers.0.norm.weight", "F32", {128}}};
  auto writer = ModelWriter::create(folder / "source", specs, 1 << 30);
  ASSERT_TRUE(writer);
  for (const TensorSpec& spec : specs)
    ASSERT_TRUE(
        writer->append(std::vector<std::byte>(size_t(spec.bytes()))).isOk());
  ASSERT_TRUE(writer->finish().isOk());
}

ServingFormat formatOf(const std::filesystem::path& directory) {
  auto model = ModelFiles::open(directory);
  EXPECT_TRUE(model) << model.message();
  auto format = servingFormatOf(*model);
  EXPECT_TRUE(format) << format.message();
  return *format;
}

TEST(ServingFormat, IsThatOfTheDirectory) {
  TestFolder folder;
  writeSource(folder);
  EXPECT_EQ(formatOf(folder / "source").weights, "bf16");
  QuantizeOptions options;
  for (WeightFormat format :
       {WeightFormat::fp8, WeightFormat::int8, WeightFormat::int4}) {
    options.format = format;
    ASSERT_TRUE(
        quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
    const ServingFormat found = formatOf(folder / "out");
    EXPECT_EQ(found.weights, sizes::weightFormatName(format));
    EXPECT_FALSE(found.hasBlocks);
    EXPECT_FALSE(found.quantizesLogits);
    // Experts, embeddings and norms are never quantized.
    EXPECT_EQ(found.excluded, format == WeightFormat::int4
                                  ? Names{"model.layers.0.mlp.down_proj"}
                                  : Names{});
  }
}

TEST(ServingFormat, HasFactorsOfInputsOfACalibration) {
  TestFolder folder;
  writeSource(folder);
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  options.calibrate = [] {
    InputStatistics statistics;
    statistics.inputs.emplace_back(128);
    statistics.inputs[0].add(std::vector<float>(128, 1.0f));
    statistics.inputOf["model.layers.0.mlp.up_proj.weight"] = 0;
    return statistics;
  };
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  EXPECT_EQ(formatOf(folder / "out").weights, "int4_awq");
}

TEST(ServingFormat, HasBlocksOfFp8) {
  TestFolder folder;
  folder.write("config.json", R"({"quantization_config": {
      "quant_method": "fp8", "weight_block_size": [128, 128]}})");
  folder.write("model.safetensors",
               safetensorsBytes(R"({"X.weight":{"dtype":"F8_E4M3","shape":
               [128,512],"data_offsets":[0,65536]},"X.weight_scale_inv":{
               "dtype":"F32","shape":[1,4],"data_offsets":[65536,65552]}})",
                                std::string(65552, '\0')));
  const ServingFormat found = formatOf(folder.path());
  EXPECT_EQ(found.weights, "fp8");
  EXPECT_TRUE(found.hasBlocks);
  EXPECT_EQ(found.excluded, Names{});
}

// Their values are no numbers of a server's format: they are dequantized.
TEST(ServingFormat, IsTheComputeTypeForOtherScales) {
  TestFolder folder;
  folder.write("config.json", R"({"quantization_config": {
      "quant_method": "fp8", "weight_block_size": [128, 128]}})");
  folder.write("model.safetensors",
               safetensorsBytes(R"({"X.weight":{"dtype":"F8_E4M3","shape":
               [2,256],"data_offsets":[0,512]},"X.weight_scale_inv":{"dtype":
               "F32","shape":[1,2],"data_offsets":[512,520]}})",
                                std::string(520, '\0')));
  const ServingFormat found = formatOf(folder.path());
  EXPECT_EQ(found.weights, "bf16");
  EXPECT_EQ(found.excluded, Names{});
}

} // namespace
} // namespace reciperun::checkpoint
