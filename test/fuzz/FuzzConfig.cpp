// libFuzzer target: configurations of models.
//
// Any bytes are read as config.pbtxt, or as the JSON of a request to load a
// model where they begin with `{`. A refusal has a reason. What is accepted has
// no mistake, is complete, and is the same after it was written as JSON.

#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/TensorRtLlm.h"
#include "runtime/server/config/model_config.pb.h"
#include "test/fuzz/Require.h"

using namespace reciperun;
using namespace reciperun::server;
using recipec::fuzz::require;

namespace {

void requireSound(const inference::ModelConfig& config) {
  require(checkModelConfig(config).isOk(), "what is read has no mistake");
  require(bool(tensorRtLlmParametersOf(config)), "parameters are valid");
  inference::ModelConfig again = config;
  completeModelConfig(again);
  require(again.SerializeAsString().size() == config.SerializeAsString().size(),
          "what is read is complete");
  const auto find = [](const std::string&, int64_t) {
    return std::shared_ptr<const inference::ModelConfig>();
  };
  if (config.has_ensemble_scheduling())
    require(!checkEnsemble(config, find).isOk(), "steps need models");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = text.starts_with('{')
                        ? readModelConfigJson(text, "m")
                        : parseModelConfig(text, "m", "config.pbtxt");
  if (!read) {
    require(!read.message().empty(), "a refusal has a reason");
    return 0;
  }
  requireSound(*read->config);
  const auto json = jsonOfConfig(*read->config);
  require(bool(json), "what is read can be written");
  const auto again = readModelConfigJson(*json, "m");
  require(bool(again), "what is written can be read");
  const auto twice = jsonOfConfig(*again->config);
  require(twice && twice->size() == json->size(),
          "what is written is the same when it is read");
  return 0;
}
