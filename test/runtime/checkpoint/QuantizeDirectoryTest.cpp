// Directories with quantized weights that we write: what they hold, and that
// they load as what they stand for.

#include "runtime/checkpoint/quantized/QuantizeDirectory.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/quantized/StoredWeights.h"
#include "runtime/quantize/Quantizers.h"

#include "TestFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;

constexpr int64_t upRows = 70, upColumns = 256;

std::vector<float> someValues(int64_t count) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) // of bf16
    value = bf16ToFloat(floatToBf16(normal(random)));
  return values;
}

std::vector<std::byte> narrowed(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  convertElements(ElementType::f32,
                  reinterpret_cast<const std::byte*>(values.data()),
                  plan::DType::bf16, bytes.data(), int64_t(values.size()));
  return bytes;
}

const char* const upProjection = "model.layers.0.mlp.up_proj.weight";

/// A model with a matrix of a linear layer, a router, a norm and an embedding.
void writeSource(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<TensorSpec> specs = {
      {"model.embed_tokens.weight", "BF16", {8, 128}},
      {upProjection, "BF16", {upRows, upColumns}},
      {"model.layers.0.mlp.gate.weight", "BF16", {4, 128}},
      {"model.norm.weight", "BF16", {upColumns}}};
  auto writer = ModelWriter::create(folder, specs, int64_t(1) << 40);
  ASSERT_TRUE(writer);
  for (const TensorSpec& spec : specs)
    ASSERT_TRUE(writer->append(narrowed(someValues(spec.bytes() / 2))).isOk());
  ASSERT_TRUE(writer->finish().isOk());
}

std::vector<float> readStored(const std::filesystem::path& folder,
                              const char* name = upProjection,
                              int64_t rows = upRows) {
  auto model = ModelFiles::open(folder);
  EXPECT_TRUE(model);
  auto weights = StoredWeights::open(*model);
  EXPECT_TRUE(weights) << weights.status().message();
  const StoredWeight* weight = weights->find(name);
  if (!weight)
    return {};
  auto reader = StoredWeightReader::open(*weight);
  std::vector<float> values(size_t(rows * upColumns));
  EXPECT_TRUE(reader->readRows(0, rows, values).isOk());
  return values;
}

class QuantizeDirectory : public testing::Test {
protected:
  void SetUp() override {
    writeSource(folder / "source");
    folder.write("source/config.json",
                 R"({"model_type": "llama", "hidden_size": 128})");
    folder.write("source/tokenizer.json", "{}");
    folder.write("source/generate.plan.json", "{}");
  }

  Status quantize(const char* from, WeightFormat format,
                  QuantizedLayout layout) {
    QuantizeOptions options;
    options.format = format;
    options.layout = layout;
    options.threads = 2;
    options.progress = [&](int64_t done, int64_t all) {
      EXPECT_GE(done, reported);
      EXPECT_LE(done, all);
      reported = done;
      total = all;
    };
    return quantizeHuggingFace(folder / from, folder / "out", options);
  }

  nlohmann::json json(const char* name) {
    return nlohmann::json::parse(readBytes(folder / name));
  }

  TestFolder folder;
  int64_t reported = 0, total = -1;
};

TEST_F(QuantizeDirectory, StandsForTheQuantizedValues) {
  const std::vector<float> values = someValues(upRows * upColumns);
  for (WeightFormat format :
       {WeightFormat::fp8, WeightFormat::int8, WeightFormat::int4})
    for (QuantizedLayout layout :
         {QuantizedLayout::compressedTensors, QuantizedLayout::modelOpt}) {
      reported = 0;
      const Status status = quantize("source", format, layout);
      if (format == WeightFormat::int8 && layout == QuantizedLayout::modelOpt) {
        EXPECT_NE(status.message().find("has no int8"), std::string::npos);
        continue;
      }
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(reported, total);
      auto made = quantize::quantizeMatrix(quantize::usualScheme(format),
                                           values, upColumns, 1);
      ASSERT_TRUE(made);
      EXPECT_EQ(readStored(folder / "out"),
                quantize::dequantizeMatrix(*made, 1))
          << sizes::weightFormatName(format) << ", layout " << int(layout);
    }
}

TEST_F(QuantizeDirectory, IsAsCompressedTensorsPublishesIt) {
  ASSERT_TRUE(
      quantize("source", WeightFormat::int4, QuantizedLayout::compressedTensors)
          .isOk());
  auto model = ModelFiles::open(folder / "out");
  ASSERT_TRUE(model);
  EXPECT_EQ(
      model->names(),
      (std::vector<std::string>{
          "model.embed_tokens.weight", "model.layers.0.mlp.gate.weight",
          "model.layers.0.mlp.up_proj.weight_packed",
          "model.layers.0.mlp.up_proj.weight_scale",
          "model.layers.0.mlp.up_proj.weight_shape", "model.norm.weight"}));
  const auto packed =
      model->find("model.layers.0.mlp.up_proj.weight_packed")->tensor;
  EXPECT_EQ(packed->dtype, "I32");
  EXPECT_EQ(packed->shape, (std::vector<int64_t>{upRows, upColumns / 8}));
  const nlohmann::json config = json("out/config.json");
  EXPECT_EQ(config["hidden_size"], 128);
  const nlohmann::json& quantization = config["quantization_config"];
  EXPECT_EQ(quantization["format"], "pack-quantized");
  EXPECT_EQ(quantization["ignore"],
            nlohmann::json({"model.layers.0.mlp.gate", "lm_head"}));
  const nlohmann::json& weights =
      quantization["config_groups"]["group_0"]["weights"];
  EXPECT_EQ(weights["num_bits"], 4);
  EXPECT_EQ(weights["group_size"], 128);
  EXPECT_EQ(weights["strategy"], "group");
  EXPECT_TRUE(std::filesystem::exists(folder / "out/tokenizer.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/generate.plan.json"));
}

TEST_F(QuantizeDirectory, IsAsModelOptPublishesIt) {
  ASSERT_TRUE(
      quantize("source", WeightFormat::fp8, QuantizedLayout::modelOpt).isOk());
  const nlohmann::json quantization =
      json("out/hf_quant_config.json")["quantization"];
  EXPECT_EQ(quantization["quant_algo"], "FP8_PER_CHANNEL_PER_TOKEN");
  EXPECT_FALSE(json("out/config.json").contains("quantization_config"));
  auto model = ModelFiles::open(folder / "out");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->find(upProjection)->tensor->dtype, "F8_E4M3");
  EXPECT_EQ(
      model->find("model.layers.0.mlp.up_proj.weight_scale")->tensor->shape,
      std::vector<int64_t>{upRows});
}

// Quantizing again what was quantized in the same way changes nothing: each
// block has a number of the largest magnitude.
TEST_F(QuantizeDirectory, TakesAQuantizedSource) {
  ASSERT_TRUE(
      quantize("source", WeightFormat::fp8, QuantizedLayout::modelOpt).isOk());
  const std::vector<float> once = readStored(folder / "out");
  std::filesystem::rename(folder / "out", folder / "fp8");
  reported = 0;
  ASSERT_TRUE(
      quantize("fp8", WeightFormat::fp8, QuantizedLayout::compressedTensors)
          .isOk());
  const std::vector<float> twice = readStored(folder / "out");
  for (size_t i = 0; i < once.size(); ++i)
    ASSERT_NEAR(twice[i], once[i], std::abs(once[i]) * 0x1p-22f);
}

/// Statistics of an input of which every 16th channel is large, which the norm
/// of the model computes or another op.
InputStatistics outliers(bool hasNorm) {
  InputStatistics statistics;
  std::vector<float> x(size_t(upColumns), 1.0f);
  for (size_t j = 0; j < x.size(); j += 16)
    x[j] = 50;
  statistics.inputs.emplace_back(upColumns);
  statistics.inputs[0].add(x);
  statistics.inputOf[upProjection] = 0;
  if (hasNorm)
    statistics.norms = {InputStatistics::Norm{"model.norm.weight"}};
  return statistics;
}

std::vector<std::byte> bytesOf(const std::filesystem::path& folder,
                               const std::string& name,
                               std::string* type = nullptr) {
  auto model = ModelFiles::open(folder);
  EXPECT_TRUE(model);
  const auto place = model->find(name);
  if (!place)
    return {};
  if (type)
    *type = place->tensor->dtype;
  std::vector<std::byte> bytes(size_t(place->tensor->end) -
                               size_t(place->tensor->begin));
  EXPECT_TRUE(place->file->read(*place->tensor, 0, bytes).isOk());
  return bytes;
}

std::vector<float> readTensor(const std::filesystem::path& folder,
                              const char* name) {
  std::string dtype;
  const std::vector<std::byte> bytes = bytesOf(folder, name, &dtype);
  if (bytes.empty())
    return {};
  const ElementType type = *findElementType(dtype);
  std::vector<float> values(bytes.size() / size_t(byteSize(type)));
  convertElements(type, bytes.data(), plan::DType::f32,
                  reinterpret_cast<std::byte*>(values.data()),
                  int64_t(values.size()));
  return values;
}

const char* const ownFactors = "model.layers.0.mlp.up_proj.pre_quant_scale";

/// The square error of the outputs for the input of `outliers`.
double outputError(const std::vector<float>& meant,
                   const std::vector<float>& made) {
  double sum = 0;
  for (size_t i = 0; i < meant.size(); ++i) {
    const double x = i % size_t(upColumns) % 16 == 0 ? 50 : 1;
    sum += x * x * double(meant[i] - made[i]) * double(meant[i] - made[i]);
  }
  return sum;
}

TEST_F(QuantizeDirectory, HasFactorsOfInputsThatLowerTheError) {
  const std::vector<float> values = someValues(upRows * upColumns);
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  const double plain = outputError(values, readStored(folder / "out"));
  EXPECT_EQ(json("out/hf_quant_config.json")["quantization"]["pre_quant_scale"],
            false);
  options.calibrate = [] { return outliers(/*hasNorm=*/false); };
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  EXPECT_LT(outputError(values, readStored(folder / "out")), 0.6 * plain);
  EXPECT_EQ(json("out/hf_quant_config.json")["quantization"]["pre_quant_scale"],
            true);
  const std::vector<float> factors = readTensor(folder / "out", ownFactors);
  ASSERT_EQ(factors.size(), size_t(upColumns));
  EXPECT_LT(factors[16], factors[1]);
  EXPECT_EQ(readTensor(folder / "out", "model.norm.weight"),
            readTensor(folder / "source", "model.norm.weight"));
}

// The norm's rounded weight stands for the factors exactly: the matrix is that
// of the quotients.
TEST_F(QuantizeDirectory, FoldsFactorsIntoANorm) {
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  options.calibrate = [] { return outliers(/*hasNorm=*/true); };
  const Status status =
      quantizeHuggingFace(folder / "source", folder / "out", options);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_TRUE(readTensor(folder / "out", ownFactors).empty());
  const std::vector<float> before = readTensor(folder / "source",
                                               "model.norm.weight"),
                           after =
                               readTensor(folder / "out", "model.norm.weight");
  ASSERT_EQ(after.size(), before.size());
  std::vector<float> factors, scaled = someValues(upRows * upColumns);
  for (size_t j = 0; j < before.size(); ++j)
    factors.push_back(after[j] / before[j]);
  EXPECT_LT(factors[16], factors[1]);
  quantize::scaleInputs(factors, scaled);
  auto made = quantize::quantizeMatrix(
      quantize::usualScheme(WeightFormat::int4), scaled, upColumns, 1,
      quantize::columnImportance(outliers(true).inputs[0], factors));
  ASSERT_TRUE(made);
  EXPECT_EQ(readStored(folder / "out"), quantize::dequantizeMatrix(*made, 1));
}

TEST_F(QuantizeDirectory, KeepsANormThatOtherMatricesRead) {
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  options.calibrate = [] {
    InputStatistics statistics = outliers(/*hasNorm=*/true);
    statistics.inputOf["model.layers.0.mlp.gate.weight"] = 0; // a router
    return statistics;
  };
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  EXPECT_FALSE(readTensor(folder / "out", ownFactors).empty());
  EXPECT_EQ(readTensor(folder / "out", "model.norm.weight"),
            readTensor(folder / "source", "model.norm.weight"));
}

const char* const upOfExperts[] = {"model.layers.0.mlp.experts.0.up_proj",
                                   "model.layers.0.mlp.experts.1.up_proj"};
const std::string downOfExpert = "model.layers.0.mlp.experts.0.down_proj";

/// A model with the matrices of experts.
void writeExperts(const TestFolder& folder) {
  std::filesystem::create_directories(folder / "source");
  std::vector<TensorSpec> specs;
  for (const char* up : upOfExperts)
    specs.push_back({std::string(up) + ".weight", "BF16", {128, upColumns}});
  specs.push_back({downOfExpert + ".weight", "BF16", {upRows, 128}});
  auto writer = ModelWriter::create(folder / "source", specs, int64_t(1) << 40);
  ASSERT_TRUE(writer);
  for (const TensorSpec& spec : specs)
    ASSERT_TRUE(writer->append(narrowed(someValues(spec.bytes() / 2))).isOk());
  ASSERT_TRUE(writer->finish().isOk());
  folder.write("source/config.json", "{}");
}

/// The input of all experts, in which every 16th channel is large for the first
/// one, and the input of the first one's last matrix.
InputStatistics ofExperts() {
  InputStatistics statistics;
  const auto withOutliers = [](int64_t channels, float outlier) {
    std::vector<float> x(size_t(channels), 1.0f);
    for (size_t j = 0; j < x.size(); j += 16)
      x[j] = outlier;
    quantize::ActivationStatistics made(channels);
    made.add(x);
    return made;
  };
  statistics.parts = {withOutliers(upColumns, 50), withOutliers(upColumns, 1)};
  statistics.inputs = {statistics.parts[0], withOutliers(128, 20)};
  statistics.inputs[0].add(statistics.parts[1]);
  for (size_t expert = 0; expert < 2; ++expert) {
    const std::string name = std::string(upOfExperts[expert]) + ".weight";
    statistics.inputOf[name] = 0;
    statistics.partOf[name] = expert;
  }
  statistics.inputOf[downOfExpert + ".weight"] = 1;
  statistics.experts = 2;
  return statistics;
}

TEST_F(QuantizeDirectory, HasOneFactorForTheInputOfAllExperts) {
  writeExperts(folder);
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  const std::string first = std::string(upOfExperts[0]) + ".weight";
  const std::vector<float> values =
      readTensor(folder / "source", first.c_str());
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  const double plain =
      outputError(values, readStored(folder / "out", first.c_str(), 128));
  std::string notes;
  options.note = [&](const std::string& text) { notes += text; };
  options.calibrate = [] {
    InputStatistics statistics = ofExperts();
    statistics.sparseExperts = 1;
    return statistics;
  };
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  EXPECT_EQ(notes, "1 of 2 experts were sent too few tokens of the "
                   "calibration's texts: their factors are those of all "
                   "experts of their layer; give more texts");
  EXPECT_LT(outputError(values, readStored(folder / "out", first.c_str(), 128)),
            0.6 * plain);
  std::vector<std::vector<float>> factors;
  for (const char* up : upOfExperts)
    factors.push_back(readTensor(
        folder / "out", (std::string(up) + ".pre_quant_scale").c_str()));
  ASSERT_EQ(factors[0].size(), size_t(upColumns));
  EXPECT_EQ(factors[0], factors[1]);
  EXPECT_LT(factors[0][16], factors[0][1]);
}

// Scales of the matrix before take the factors, and all codes stay the same.
TEST_F(QuantizeDirectory, FoldsFactorsIntoTheMatrixBefore) {
  writeExperts(folder);
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  options.calibrate = [] { return ofExperts(); };
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "apart", options).isOk());
  options.calibrate = [] {
    InputStatistics statistics = ofExperts();
    statistics.makerOf[1] = std::string(upOfExperts[0]) + ".weight";
    return statistics;
  };
  ASSERT_TRUE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  const auto read = [&](const char* from, const std::string& name) {
    return readTensor(folder / from, name.c_str());
  };
  const std::vector<float> factors =
      read("apart", downOfExpert + ".pre_quant_scale");
  ASSERT_EQ(factors.size(), 128u);
  EXPECT_LT(factors[16], factors[1]);
  EXPECT_TRUE(read("out", downOfExpert + ".pre_quant_scale").empty());
  const std::string scale = std::string(upOfExperts[0]) + ".weight_scale";
  std::vector<float> scales = read("apart", scale);
  ASSERT_EQ(scales.size(), 256u); // two groups in each of 128 rows
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] *= factors[i / 2];
  EXPECT_EQ(read("out", scale), scales);
  for (const std::string& name :
       {std::string(upOfExperts[0]) + ".weight", downOfExpert + ".weight",
        downOfExpert + ".weight_scale"})
    EXPECT_EQ(bytesOf(folder / "out", name), bytesOf(folder / "apart", name));
}

TEST_F(QuantizeDirectory, LeavesNothingWhenTheCalibrationFails) {
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  options.calibrate = [] {
    return Expected<InputStatistics>(Status::error("no text"));
  };
  EXPECT_EQ(
      quantizeHuggingFace(folder / "source", folder / "out", options).message(),
      "no text");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"source"});
  options.calibrate = [] {
    InputStatistics statistics;
    statistics.inputs.emplace_back(3);
    statistics.inputOf[upProjection] = 0;
    return statistics;
  };
  EXPECT_NE(quantizeHuggingFace(folder / "source", folder / "out", options)
                .message()
                .find("has 256 inputs, and the calibration measured 3"),
            std::string::npos);
}

TEST_F(QuantizeDirectory, LeavesNothingWhenItIsCancelled) {
  QuantizeOptions options;
  options.goesOn = [] { return Status::error("stopped"); };
  EXPECT_FALSE(
      quantizeHuggingFace(folder / "source", folder / "out", options).isOk());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"source"});
}

} // namespace
} // namespace reciperun::checkpoint
