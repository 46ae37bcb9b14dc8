// See WarmupSamples.h.

#include "runtime/server/repository/WarmupSamples.h"

#include "runtime/data/Random.h"
#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;
using inference::ModelConfig;
using inference::ModelWarmup;

constexpr int64_t mostWarmupBytes = int64_t(1) << 30; // of a model
constexpr const char* warmupFolder = "warmup";
constexpr uint64_t warmupSeed = 1; // all loads have the same data
constexpr size_t lettersOfText = 8;

/// Bit patterns from 0 to before this one are the random numbers of a type.
/// Those of floating-point types are in [0, 1): the pattern is that of 1.
uint64_t patternsOf(DataType type) {
  switch (type) {
  case DataType::boolean:
    return 2;
  case DataType::fp16:
    return 0x3C00;
  case DataType::bf16:
    return 0x3F80;
  case DataType::fp32:
    return 0x3F80'0000;
  case DataType::fp64:
    return 0x3FF0'0000'0000'0000;
  default:
    return bytesOf(type) < sizeof(uint64_t)
               ? uint64_t(1) << (8 * bytesOf(type))
               : std::numeric_limits<uint64_t>::max();
  }
}

std::string randomData(DataType type, int64_t elements, data::Random& random) {
  std::string made;
  for (int64_t i = 0; i < elements; ++i) {
    if (type == DataType::bytes) {
      std::string text(lettersOfText, 'a');
      for (char& letter : text)
        letter = char('a' + random.below(26));
      appendBytes(made, text);
      continue;
    }
    const uint64_t value = random.below(patternsOf(type));
    made.append(reinterpret_cast<const char*>(&value), bytesOf(type));
  }
  return made;
}

/// Makes the samples of one model.
class SampleMaker {
public:
  SampleMaker(const ModelConfig& config, const fs::path& folder)
      : config(config), folder(folder) {}

  Expected<WarmupSample> make(const ModelWarmup& warmup) {
    WarmupSample sample{.name = warmup.name(),
                        .request = {},
                        .batch = warmup.batch_size(),
                        .runs = std::max<size_t>(1, warmup.count())};
    sample.request.model = config.name();
    std::vector<Tensor> added; // by sequence batching
    for (const auto& [name, input] : inOrder(warmup)) {
      auto tensor = tensorOf(name, *input);
      RECIPERUN_TRY(tensor);
      const bool isOwn =
          std::ranges::any_of(config.input(), [&](const auto& each) {
            return each.name() == tensor->name;
          });
      (isOwn ? sample.request.inputs : added).push_back(*std::move(tensor));
    }
    RECIPERUN_TRY(checkRequest(config, sample.request));
    std::ranges::move(added, std::back_inserter(sample.request.inputs));
    return sample;
  }

private:
  using Inputs = std::map<std::string, const ModelWarmup::Input*>;

  static Inputs inOrder(const ModelWarmup& warmup) {
    Inputs inputs;
    for (const auto& [name, input] : warmup.inputs())
      inputs.emplace(name, &input);
    return inputs;
  }

  Expected<Tensor> tensorOf(const std::string& name,
                            const ModelWarmup::Input& input) {
    Tensor tensor{
        .name = name,
        .type = dataTypeOf(int(input.data_type())).value_or(DataType::bytes),
        .shape = {},
        .data = {}};
    if (config.max_batch_size() > 0)
      tensor.shape.push_back(1);
    tensor.shape.insert(tensor.shape.end(), input.dims().begin(),
                        input.dims().end());
    auto data = dataOf(tensor, input);
    RECIPERUN_TRY(data);
    tensor.data = *std::move(data);
    bytesLeft -= int64_t(tensor.data.size());
    return tensor;
  }

  Expected<std::string> dataOf(const Tensor& tensor,
                               const ModelWarmup::Input& input) {
    const bool isText = tensor.type == DataType::bytes;
    const bool isRandom = input.has_random_data();
    const auto size =
        int64_t(!isText ? bytesOf(tensor.type)
                        : sizeof(uint32_t) + (isRandom ? lettersOfText : 0));
    const int64_t elements = elementsOf(tensor.shape).value_or(-1);
    if (elements < 0 || elements > bytesLeft / size)
      return Status::error("the data of all warmup settings exceed " +
                               std::to_string(mostWarmupBytes) + " bytes",
                           StatusCode::invalidArgument);
    if (input.has_input_data_file())
      return fileOf(input.input_data_file(), isText ? 0 : elements * size,
                    isText);
    return isRandom ? randomData(tensor.type, elements, random)
                    : std::string(size_t(elements * size), '\0');
  }

  /// The first `bytes` of a file, or all of it.
  Expected<std::string> fileOf(const std::string& file, int64_t bytes,
                               bool takesAll) const {
    auto data = readModelFile(folder, file, bytesLeft, warmupFolder);
    RECIPERUN_TRY(data);
    if (int64_t(data->size()) < bytes)
      return Status::error("warmup setting expects " + std::to_string(bytes) +
                               " bytes, but the data provided from " + file +
                               " only has " + std::to_string(data->size()) +
                               " bytes",
                           StatusCode::invalidArgument);
    if (!takesAll)
      data->resize(size_t(bytes));
    return data;
  }

  const ModelConfig& config;
  const fs::path& folder;
  data::Random random{warmupSeed};
  int64_t bytesLeft = mostWarmupBytes;
};

} // namespace

Expected<std::vector<WarmupSample>> warmupSamplesOf(const ModelConfig& config,
                                                    const fs::path& folder) {
  SampleMaker maker(config, folder);
  std::vector<WarmupSample> samples;
  for (const ModelWarmup& warmup : config.model_warmup()) {
    if (warmup.batch_size() == 0)
      continue;
    auto sample = maker.make(warmup);
    if (!sample)
      return sample.status().withContext("model warmup '" + warmup.name() +
                                         "'");
    samples.push_back(*std::move(sample));
  }
  return samples;
}

} // namespace reciperun::server
