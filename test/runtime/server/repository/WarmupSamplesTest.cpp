// The requests of a model's warm-up: shapes, data, files.

#include "runtime/server/repository/WarmupSamples.h"

#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/model_config.pb.h"
#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

/// A setting with the input `i`.
std::string setting(const std::string& type, const std::string& data,
                    const std::string& more = "batch_size: 1") {
  return "model_warmup { name: \"w\" inputs { key: \"i\" value { "
         "data_type: TYPE_" +
         type + " dims: 100 " + data + " } } " + more + " }\n";
}

/// Of a model with an input of one type.
Expected<std::vector<WarmupSample>>
samplesOf(const checkpoint::TestFolder& folder, const std::string& type,
          const std::string& settings, const std::string& more = "") {
  const auto read =
      parseModelConfig("backend: \"identity\" " + more +
                           " input { name: \"i\" data_type: TYPE_" + type +
                           " dims: 100 }\n" + settings,
                       "m", "config.pbtxt");
  EXPECT_TRUE(read) << read.message();
  return warmupSamplesOf(*read->config, folder.path());
}

Tensor onlyInput(const Expected<std::vector<WarmupSample>>& samples) {
  if (samples && samples->size() == 1 &&
      (*samples)[0].request.inputs.size() == 1)
    return (*samples)[0].request.inputs[0];
  ADD_FAILURE() << samples.message();
  return {};
}

template <class T> std::vector<T> elementsAs(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

TEST(WarmupSamples, CountsAndBatches) {
  const checkpoint::TestFolder folder;
  const std::string zero = "zero_data: false"; // Triton ignores the value
  const auto samples =
      samplesOf(folder, "INT32",
                setting("INT32", zero) +
                    setting("INT32", zero, "count: 3 batch_size: 4") +
                    setting("INT32", zero, "batch_size: 0"),
                "max_batch_size: 4");
  ASSERT_TRUE(samples) << samples.message();
  ASSERT_EQ(samples->size(), 2u) << "without a batch size it is not used";
  EXPECT_EQ((*samples)[0].batch, 1u);
  EXPECT_EQ((*samples)[0].runs, 1u);
  EXPECT_EQ((*samples)[1].batch, 4u);
  EXPECT_EQ((*samples)[1].runs, 3u);
  const Tensor& input = (*samples)[1].request.inputs.at(0);
  EXPECT_EQ(input.name, "i");
  EXPECT_EQ(input.type, DataType::int32);
  EXPECT_EQ(input.shape, std::vector<int64_t>({1, 100}));
  EXPECT_EQ(input.data, std::string(400, '\0'));
}

TEST(WarmupSamples, WithoutBatchingThereIsNoBatchDimension) {
  const checkpoint::TestFolder folder;
  EXPECT_EQ(
      onlyInput(samplesOf(folder, "FP64", setting("FP64", "zero_data: 1")))
          .shape,
      std::vector<int64_t>({100}));
}

TEST(WarmupSamples, RandomDataAreOfTheType) {
  const checkpoint::TestFolder folder;
  const auto random = [&](const std::string& type) {
    return onlyInput(
        samplesOf(folder, type, setting(type, "random_data: true")));
  };
  const auto isFraction = [](auto value) { return value >= 0 && value < 1; };
  EXPECT_TRUE(
      std::ranges::all_of(elementsAs<float>(random("FP32")), isFraction));
  EXPECT_TRUE(
      std::ranges::all_of(elementsAs<double>(random("FP64")), isFraction));
  // Below the patterns of 1.
  EXPECT_LT(std::ranges::max(elementsAs<uint16_t>(random("FP16"))), 0x3C00);
  EXPECT_LT(std::ranges::max(elementsAs<uint16_t>(random("BF16"))), 0x3F80);
  EXPECT_EQ(std::ranges::max(elementsAs<uint8_t>(random("BOOL"))), 1);
  const auto numbers = elementsAs<int64_t>(random("INT64"));
  ASSERT_EQ(numbers.size(), 100u);
  EXPECT_NE(numbers[0], numbers[1]);
  EXPECT_NE(std::ranges::min(elementsAs<int8_t>(random("INT8"))),
            std::ranges::max(elementsAs<int8_t>(random("INT8"))));
  const Tensor texts = random("STRING");
  const auto elements = bytesElements(texts.data);
  ASSERT_TRUE(elements);
  ASSERT_EQ(elements->size(), 100u);
  EXPECT_EQ((*elements)[0].size(), 8u);
  EXPECT_NE((*elements)[0], (*elements)[1]);
}

TEST(WarmupSamples, ZeroTextsAreEmpty) {
  const checkpoint::TestFolder folder;
  const Tensor texts = onlyInput(
      samplesOf(folder, "STRING", setting("STRING", "zero_data: true")));
  EXPECT_EQ(texts.data, std::string(400, '\0'));
}

TEST(WarmupSamples, FilesHaveTheDataOfInputs) {
  const checkpoint::TestFolder folder;
  const auto dataOfFile = [&](const std::string& type,
                              const std::string& data) {
    folder.write("warmup/data", data);
    const auto samples =
        samplesOf(folder, type, setting(type, "input_data_file: \"data\""));
    return samples ? onlyInput(samples).data : samples.message();
  };
  const std::string numbers(200, 'x');
  EXPECT_EQ(dataOfFile("INT16", numbers), numbers);
  EXPECT_EQ(dataOfFile("INT16", numbers + "more"), numbers);
  EXPECT_EQ(dataOfFile("INT16", "few"),
            "model warmup 'w': warmup setting expects 200 bytes, but the data "
            "provided from data only has 3 bytes");
  std::string texts;
  for (int i = 0; i < 100; ++i)
    appendBytes(texts, std::to_string(i));
  EXPECT_EQ(dataOfFile("STRING", texts), texts);
  EXPECT_EQ(dataOfFile("STRING", texts + "more"),
            "model warmup 'w': [request id: <id_unknown>] unexpected number of "
            "string elements 101 for inference input 'i' for model 'm', "
            "expecting 100");
}

TEST(WarmupSamples, FilesAreBelowTheFolderOfTheWarmup) {
  const checkpoint::TestFolder folder;
  folder.write("secret", std::string(100, 's'));
  folder.write("warmup/.keep", "");
  std::filesystem::create_symlink(folder / "secret", folder / "warmup/link");
  for (const std::string file : {"../secret", "link"})
    EXPECT_EQ(samplesOf(folder, "INT8",
                        setting("INT8", "input_data_file: \"" + file + "\""))
                  .message(),
              "model warmup 'w': `" + file +
                  "` is outside of the model's folder `warmup`");
}

TEST(WarmupSamples, TheDataOfAllSettingsAreLimited) {
  const checkpoint::TestFolder folder;
  const auto read = parseModelConfig(
      "backend: \"identity\" input { name: \"i\" data_type: TYPE_FP32 dims: -1 "
      "}\nmodel_warmup { name: \"w\" batch_size: 1 inputs { key: \"i\" value { "
      "data_type: TYPE_FP32 dims: 268435457 zero_data: true } } }",
      "m", "config.pbtxt");
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(warmupSamplesOf(*read->config, folder.path()).message(),
            "model warmup 'w': the data of all warmup settings exceed "
            "1073741824 bytes");
}

TEST(WarmupSamples, InputsOfSequencesFollowThoseOfTheModel) {
  const checkpoint::TestFolder folder;
  const auto samples = samplesOf(
      folder, "INT32",
      setting("INT32", "zero_data: true",
              "batch_size: 1 inputs { key: \"S\" value { data_type: TYPE_INT32 "
              "dims: 1 "
              "zero_data: true } }"),
      "max_batch_size: 2 sequence_batching { state { input_name: \"S\" "
      "output_name: \"T\" data_type: TYPE_INT32 dims: 1 } }");
  ASSERT_TRUE(samples) << samples.message();
  const std::vector<Tensor>& inputs = samples->at(0).request.inputs;
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].name, "i");
  EXPECT_EQ(inputs[1].name, "S");
  EXPECT_EQ(inputs[1].shape, std::vector<int64_t>({1, 1}));
}

} // namespace
} // namespace reciperun::server
