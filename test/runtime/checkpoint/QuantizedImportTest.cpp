// Loading weights into quantized parameters: from plain tensors, from tensors
// that are quantized in the same and in other ways, and on two ranks.

#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/checkpoint/quantized/QuantizeDirectory.h"
#include "runtime/plan/Mesh.h"
#include "runtime/quantize/QuantizationError.h"
#include "runtime/quantize/Quantizers.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;

constexpr int64_t rows = 64, columns = 512;
const char* const matrix = "up.weight";

/// Buffers that grow as they are written.
class Memory : public ParameterAccess {
public:
  Status write(int parameter, Content content, int64_t offset,
               std::span<const std::byte> data) override {
    std::vector<std::byte>& bytes = buffers[{parameter, content}];
    bytes.resize(std::max(bytes.size(), size_t(offset) + data.size()));
    std::memcpy(bytes.data() + offset, data.data(), data.size());
    return Status::ok();
  }
  Status read(int, Content, int64_t, std::span<std::byte>) const override {
    return Status::error("not read");
  }

  template <class T> std::vector<T> numbers(Content content) {
    const std::vector<std::byte>& bytes = buffers[{0, content}];
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

private:
  std::map<std::pair<int, Content>, std::vector<std::byte>> buffers;
};

/// A plan of one matrix, whose columns or rows `ranks` ranks split; quantized
/// if there is a format, and then with factors of its inputs or without.
struct PlanKind {
  std::optional<WeightFormat> format = {};
  int ranks = 1;
  bool splitsRows = false, scalesInputs = false;
};

plan::Plan planOf(const PlanKind& kind) {
  const auto& [format, ranks, splitsRows, scalesInputs] = kind;
  plan::Plan plan;
  plan.compute = plan::DType::f32;
  plan.mesh.axes = {{"tp", ranks}};
  plan.mesh.ranks = ranks;
  plan.stages.resize(1);
  plan.exchange.config = R"({"hidden_size": 512})";
  plan::Parameter parameter;
  parameter.name = parameter.hfName = matrix;
  parameter.globalShape = parameter.hfShape = {rows, columns};
  parameter.shardAxes = {splitsRows ? "tp" : "", splitsRows ? "" : "tp"};
  parameter.trainable = false;
  parameter.stages = {0};
  plan::Buffer value;
  value.dtype = plan::DType::f32;
  value.shape = {splitsRows ? rows / ranks : rows,
                 splitsRows ? columns : columns / ranks};
  plan::Holding holding;
  holding.parameter = holding.value = 0;
  if (format) {
    const quantize::Scheme scheme = quantize::usualScheme(*format);
    parameter.quantization =
        plan::WeightQuantization{sizes::weightFormatName(scheme.format),
                                 sizes::weightScalesName(scheme.scales)};
    value.dtype = sizes::storedType(*format);
    value.shape[1] = sizes::storedWidth(*format, value.shape[1]);
    holding.scale = 1;
    holding.inScale = scalesInputs ? 2 : -1;
  }
  plan.parameters = {parameter};
  plan.stages[0].buffers = {value, plan::Buffer(), plan::Buffer()};
  plan.stages[0].holdings = {holding};
  return plan;
}

std::vector<float> someWeights() {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> values(size_t(rows * columns));
  for (float& value : values)
    value = normal(random);
  return values;
}

void writeSource(const TestFolder& folder, const std::vector<float>& values) {
  folder.write("source/config.json", R"({"hidden_size": 512})");
  folder.write("source/model.safetensors",
               safetensorsBytes(R"({"up.weight":{"dtype":"F32","shape":[64,512],
               "data_offsets":[0,131072]}})",
                                bytesOf(values)));
}

/// The values that a rank's buffers stand for.
std::vector<float> valuesOf(Memory& memory, WeightFormat format,
                            int64_t width) {
  quantize::QuantizedMatrix loaded;
  loaded.scheme = quantize::usualScheme(format);
  loaded.rows = rows;
  loaded.columns = width;
  loaded.data = memory.numbers<uint8_t>(Content::value);
  loaded.scales = memory.numbers<float>(Content::scale);
  return quantize::dequantizeMatrix(loaded, 1);
}

constexpr WeightFormat formats[] = {WeightFormat::fp8, WeightFormat::int8,
                                    WeightFormat::int4};

TEST(QuantizedImport, QuantizesEachRanksShard) {
  TestFolder folder;
  const std::vector<float> values = someWeights();
  writeSource(folder, values);
  for (WeightFormat format : formats)
    for (int ranks : {1, 2})
      for (int rank = 0; rank < ranks; ++rank) {
        Memory memory;
        const plan::Plan plan = planOf({format, ranks});
        const Status status =
            loadHuggingFace(plan, rank, folder / "source", memory);
        ASSERT_TRUE(status.isOk()) << status.message();
        const int64_t width = columns / ranks;
        std::vector<float> own;
        for (int64_t i = 0; i < rows; ++i)
          own.insert(own.end(), values.begin() + i * columns + rank * width,
                     values.begin() + i * columns + (rank + 1) * width);
        auto made = quantize::quantizeMatrix(quantize::usualScheme(format), own,
                                             width, 1);
        ASSERT_TRUE(made);
        EXPECT_EQ(memory.numbers<uint8_t>(Content::value), made->data);
        EXPECT_EQ(memory.numbers<float>(Content::scale), made->scales);
      }
}

TEST(QuantizedImport, TakesQuantizedTensors) {
  TestFolder folder;
  const std::vector<float> values = someWeights();
  writeSource(folder, values);
  for (WeightFormat stored : formats) {
    QuantizeOptions options;
    options.format = stored;
    ASSERT_TRUE(
        quantizeHuggingFace(folder / "source", folder / "stored", options)
            .isOk());
    auto once = quantize::quantizeMatrix(quantize::usualScheme(stored), values,
                                         columns, 1);
    ASSERT_TRUE(once);
    const std::vector<float> meant = quantize::dequantizeMatrix(*once, 1);
    Memory plain; // dequantized into a parameter in the compute type
    ASSERT_TRUE(
        loadHuggingFace(planOf({}), 0, folder / "stored", plain).isOk());
    EXPECT_EQ(plain.numbers<float>(Content::value), meant);
    for (WeightFormat format : formats) {
      if (format == stored) // copied, see below
        continue;
      Memory memory;
      const Status status =
          loadHuggingFace(planOf({format}), 0, folder / "stored", memory);
      ASSERT_TRUE(status.isOk()) << status.message();
      auto twice = quantize::quantizeMatrix(quantize::usualScheme(format),
                                            meant, columns, 1);
      ASSERT_TRUE(twice);
      EXPECT_EQ(valuesOf(memory, format, columns),
                quantize::dequantizeMatrix(*twice, 1));
    }
  }
}

/// The part of a row-major matrix [count, width] that a rank has, in bytes.
template <class T>
std::vector<T> partOf(const std::vector<T>& all, const PlanKind& kind, int rank,
                      int64_t count) {
  const int64_t width = int64_t(all.size()) / count;
  const int64_t part =
      kind.splitsRows ? int64_t(all.size()) / kind.ranks : width / kind.ranks;
  std::vector<T> own;
  for (int64_t i = 0; i < (kind.splitsRows ? 1 : count); ++i) {
    const auto begin = all.begin() + i * width + rank * part;
    own.insert(own.end(), begin, begin + part);
  }
  return own;
}

// Rounding again would find another clip of int4, and other scales of fp8 and
// int8 where ranks split the columns.
TEST(QuantizedImport, CopiesCodesOfTheSameScheme) {
  TestFolder folder;
  const std::vector<float> values = someWeights();
  writeSource(folder, values);
  for (WeightFormat format : formats)
    for (QuantizedLayout layout :
         {QuantizedLayout::compressedTensors, QuantizedLayout::modelOpt}) {
      if (format == WeightFormat::int8 && layout == QuantizedLayout::modelOpt)
        continue;
      QuantizeOptions options;
      options.format = format;
      options.layout = layout;
      ASSERT_TRUE(
          quantizeHuggingFace(folder / "source", folder / "stored", options)
              .isOk());
      auto made = quantize::quantizeMatrix(quantize::usualScheme(format),
                                           values, columns, 1);
      ASSERT_TRUE(made);
      for (const PlanKind& kind : {PlanKind{format}, PlanKind{format, 2},
                                   PlanKind{format, 2, /*splitsRows=*/true}})
        for (int rank = 0; rank < kind.ranks; ++rank) {
          Memory memory;
          const Status status =
              loadHuggingFace(planOf(kind), rank, folder / "stored", memory);
          ASSERT_TRUE(status.isOk()) << status.message();
          EXPECT_EQ(memory.numbers<uint8_t>(Content::value),
                    partOf(made->data, kind, rank, rows));
          const bool hasGroups = format == WeightFormat::int4;
          EXPECT_EQ(memory.numbers<float>(Content::scale),
                    hasGroups || kind.splitsRows
                        ? partOf(made->scales, kind, rank, rows)
                        : made->scales);
        }
    }
}

TEST(QuantizedImport, CopiesCodesWithOneScale) {
  TestFolder folder;
  std::vector<uint8_t> codes(size_t(rows * columns));
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = uint8_t(i * 7 % 0x7f); // no NaN
  folder.write("stored/config.json", R"({"hidden_size": 512,
      "quantization_config": {"quant_method": "modelopt",
      "quant_algo": "FP8"}})");
  folder.write(
      "stored/model.safetensors",
      safetensorsBytes(R"({"up.weight":{"dtype":"F8_E4M3",
               "shape":[64,512],"data_offsets":[0,32768]},"up.weight_scale":
               {"dtype":"F32","shape":[],"data_offsets":[32768,32772]}})",
                       bytesOf(codes) + bytesOf(std::vector<float>{0.3f})));
  Memory memory;
  const Status status = loadHuggingFace(planOf({WeightFormat::fp8}), 0,
                                        folder / "stored", memory);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(memory.numbers<uint8_t>(Content::value), codes);
  EXPECT_EQ(memory.numbers<float>(Content::scale),
            std::vector<float>(size_t(rows), 0.3f));
  codes[700] = 0x7f; // NaN
  folder.write(
      "stored/model.safetensors",
      safetensorsBytes(R"({"up.weight":{"dtype":"F8_E4M3",
               "shape":[64,512],"data_offsets":[0,32768]},"up.weight_scale":
               {"dtype":"F32","shape":[],"data_offsets":[32768,32772]}})",
                       bytesOf(codes) + bytesOf(std::vector<float>{0.3f})));
  const Status damaged = loadHuggingFace(planOf({WeightFormat::fp8}), 0,
                                         folder / "stored", memory);
  ASSERT_FALSE(damaged.isOk());
  EXPECT_NE(damaged.message().find("[1, 188]"), std::string::npos)
      << damaged.message();
}

/// Statistics of inputs of which every 16th is large.
InputStatistics someStatistics() {
  InputStatistics statistics;
  quantize::ActivationStatistics input(columns);
  std::vector<float> x(size_t(columns), 1.0f);
  for (size_t j = 0; j < x.size(); j += 16)
    x[j] = float(j % 7 + 20);
  input.add(x);
  statistics.inputs.push_back(std::move(input));
  statistics.inputOf[matrix] = 0;
  return statistics;
}

TEST(QuantizedImport, CopiesOrFoldsFactorsOfInputs) {
  TestFolder folder;
  const std::vector<float> values = someWeights();
  writeSource(folder, values);
  QuantizeOptions options;
  options.format = WeightFormat::int4;
  options.layout = QuantizedLayout::modelOpt;
  options.calibrate = [] { return someStatistics(); };
  const Status made =
      quantizeHuggingFace(folder / "source", folder / "stored", options);
  ASSERT_TRUE(made.isOk()) << made.message();

  Memory whole;
  const PlanKind one{WeightFormat::int4, 1, false, /*scalesInputs=*/true};
  ASSERT_TRUE(loadHuggingFace(planOf(one), 0, folder / "stored", whole).isOk());
  const std::vector<float> factors = whole.numbers<float>(Content::inputScale);
  ASSERT_EQ(factors.size(), size_t(columns));
  EXPECT_LT(factors[0], factors[1]);
  std::vector<float> meant = values;
  quantize::scaleInputs(factors, meant);
  auto scaled = quantize::quantizeMatrix(
      quantize::usualScheme(WeightFormat::int4), meant, columns, 1,
      quantize::columnImportance(someStatistics().inputs[0], factors));
  ASSERT_TRUE(scaled);
  EXPECT_EQ(whole.numbers<uint8_t>(Content::value), scaled->data);
  EXPECT_EQ(whole.numbers<float>(Content::scale), scaled->scales);

  const PlanKind two{WeightFormat::int4, 2, false, true};
  Memory second;
  ASSERT_TRUE(
      loadHuggingFace(planOf(two), 1, folder / "stored", second).isOk());
  EXPECT_EQ(second.numbers<float>(Content::inputScale),
            partOf(factors, two, 1, 1));
  EXPECT_EQ(second.numbers<uint8_t>(Content::value),
            partOf(scaled->data, two, 1, rows));

  // Folded where the parameter has no factors.
  meant = quantize::dequantizeMatrix(*scaled, 1);
  for (size_t i = 0; i < meant.size(); ++i)
    meant[i] *= factors[i % factors.size()];
  Memory plain;
  ASSERT_TRUE(loadHuggingFace(planOf({}), 0, folder / "stored", plain).isOk());
  EXPECT_EQ(plain.numbers<float>(Content::value), meant);
  auto again = quantize::quantizeMatrix(
      quantize::usualScheme(WeightFormat::int4), meant, columns, 1);
  Memory folded;
  ASSERT_TRUE(loadHuggingFace(planOf({WeightFormat::int4}), 0,
                              folder / "stored", folded)
                  .isOk());
  EXPECT_EQ(folded.numbers<uint8_t>(Content::value), again->data);
}

TEST(QuantizedImport, SetsFactorsToOneWithoutACalibration) {
  TestFolder folder;
  writeSource(folder, someWeights());
  Memory memory;
  ASSERT_TRUE(loadHuggingFace(planOf({WeightFormat::int4, 1, false, true}), 0,
                              folder / "source", memory)
                  .isOk());
  EXPECT_EQ(memory.numbers<float>(Content::inputScale),
            std::vector<float>(size_t(columns), 1.0f));
}

// A step of normal numbers is 1 / 16 of a value in fp8, max / 127 in int8 and
// about 2.7 / 7 in int4. The relative error is the step over the root of 12:
// 0.026 (fp8's steps are finer above a power of two), 0.007 and 0.11.
TEST(QuantizedImport, LosesLittle) {
  TestFolder folder;
  const std::vector<float> values = someWeights();
  writeSource(folder, values);
  const double most[] = {0.03, 0.01, 0.12};
  for (WeightFormat format : formats) {
    Memory memory;
    ASSERT_TRUE(
        loadHuggingFace(planOf({format}), 0, folder / "source", memory).isOk());
    EXPECT_LT(
        quantize::compare(values, valuesOf(memory, format, columns)).relative(),
        most[size_t(format)]);
  }
}

TEST(QuantizedImport, NamesAWeightThatIsNotFinite) {
  TestFolder folder;
  std::vector<float> values = someWeights();
  values[100] = std::numeric_limits<float>::infinity();
  writeSource(folder, values);
  Memory memory;
  const Status status = loadHuggingFace(planOf({WeightFormat::int8}), 0,
                                        folder / "source", memory);
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.message().find(matrix), std::string::npos)
      << status.message();
}

} // namespace
} // namespace reciperun::checkpoint
