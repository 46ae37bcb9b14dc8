// A checkpoint as the parameters of one rank: builds a plan with only
// parameters from the manifest, so that the export of a trained model also
// works for checkpoints.

#include "runtime/checkpoint/Convert.h"

#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/checkpoint/ParameterTensors.h"
#include "runtime/checkpoint/StateReader.h"
#include "runtime/comm/LocalCommunicator.h"
#include "runtime/plan/ExpertNames.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/TensorRows.h"

#include <algorithm>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

/// The weights of a checkpoint as whole tensors in the types of a plan.
class CheckpointParameters : public ParameterAccess {
public:
  CheckpointParameters(StateReader& reader, const plan::Plan& plan)
      : reader(reader), plan(plan) {}

  Status write(int, Content, int64_t, std::span<const std::byte>) override {
    return Status::error("a checkpoint is read, not written to");
  }

  Status read(int parameter, Content content, int64_t offset,
              std::span<std::byte> data) const override {
    if (content != Content::value)
      return Status::error("a checkpoint holds no gradients");
    const SavedParameter& saved =
        reader.manifest().parameters[size_t(parameter)];
    plan::DType type = typeOf(plan, plan.parameters[size_t(parameter)]);
    int64_t size = plan::byteSize(type);
    return reader.read(parameter, StateKind::weight,
                       ShardLayout::whole(saved.shape), offset / size,
                       int64_t(data.size()) / size, type, data);
  }

private:
  StateReader& reader;
  const plan::Plan& plan;
};

plan::Plan planOf(const StateReader& reader) {
  const Manifest& manifest = reader.manifest();
  plan::Plan plan;
  plan.name = manifest.recipe;
  plan.compute = manifest.model.compute;
  plan.stages.resize(1);
  for (const SavedParameter& saved : manifest.parameters) {
    plan.parameters.push_back(parameterOf(saved));
    plan.parameters.back().stages = {0};
  }
  plan.exchange.config = manifest.model.config;
  plan.exchange.generationConfig = manifest.model.generationConfig;
  plan.exchange.adapterConfig = manifest.model.adapterConfig;
  plan.generation = manifest.model.generation;
  plan.data.bosToken = manifest.model.bosToken;
  plan.data.eosToken = manifest.model.eosToken;
  fs::path tokenizer = reader.path() / "tokenizer.json";
  if (!isAbsent(tokenizer))
    plan.data.tokenizer = tokenizer.string();
  return plan;
}

/// Checks that every parameter has Hugging Face tensors with the same number of
/// elements, or is rows of a tensor whose other rows are parameters, too.
Status checkNames(const plan::Plan& plan) {
  RECIPERUN_TRY(checkTensorRows(plan.parameters));
  for (const plan::Parameter& parameter : plan.parameters) {
    int64_t elements =
        plan::isByExpert(parameter) ? parameter.globalShape[0] : 1;
    if (parameter.hfName.empty() ||
        __builtin_mul_overflow(elements, plan::elementCount(parameter.hfShape),
                               &elements) ||
        elements != plan::elementCount(parameter.globalShape))
      return Status::error("the recipe's model gives `" + parameter.name +
                           "` no name and shape at Hugging Face");
  }
  return Status::ok();
}

} // namespace

Status checkpointToHuggingFace(const fs::path& checkpoint,
                               const fs::path& directory,
                               const ConvertOptions& options) {
  Expected<StateReader> reader = StateReader::open(checkpoint);
  RECIPERUN_TRY(reader);
  std::string place = "`" + checkpoint.string() + "`";
  plan::Plan plan = planOf(*reader);
  RECIPERUN_TRY(checkNames(plan).withContext(place));
  if (reader->manifest().model.config.empty())
    return Status::error(place + ": the recipe's model has no config.json, "
                                 "which makes a Hugging Face directory; "
                                 "declare `fixed hf_config : any = {...}` in "
                                 "the model and train it again");
  CheckpointParameters access(*reader, plan);
  comm::LocalCommunicator alone;
  return exportHuggingFace(
      plan, access, alone, directory,
      {.goesOn = options.goesOn, .existing = options.existing});
}

Expected<bool> hasAdapter(const fs::path& checkpoint) {
  Expected<StateReader> reader = StateReader::open(checkpoint);
  RECIPERUN_TRY(reader);
  return std::ranges::any_of(reader->manifest().parameters,
                             &SavedParameter::adapter);
}

Status checkpointToAdapter(const fs::path& checkpoint,
                           const fs::path& directory,
                           const ConvertOptions& options) {
  Expected<StateReader> reader = StateReader::open(checkpoint);
  RECIPERUN_TRY(reader);
  plan::Plan plan = planOf(*reader);
  RECIPERUN_TRY(checkNames(plan).withContext("`" + checkpoint.string() + "`"));
  CheckpointParameters access(*reader, plan);
  comm::LocalCommunicator alone;
  return exportAdapter(
      plan, access, alone, directory,
      {.goesOn = options.goesOn, .existing = options.existing});
}

} // namespace reciperun::checkpoint
