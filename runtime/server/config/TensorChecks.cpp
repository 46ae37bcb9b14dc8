// The inputs and outputs of a model: see ConfigChecks.h.

#include "runtime/server/config/ConfigChecks.h"

#include "runtime/server/config/model_config.pb.h"

#include <map>
#include <set>
#include <utility>

namespace reciperun::server {
namespace {

using inference::BatchInput;
using inference::BatchOutput;
using inference::ModelConfig;
using inference::ModelInput;

/// Of inputs and of outputs; TensorRT-LLM's backend has some 70.
constexpr int mostTensors = 1024;
constexpr int mostDims = 64;

constexpr const char* dimensionRule =
    " must be integer >= 1, or -1 to indicate a variable-size dimension";

constexpr const char* emptyReshape =
    "cannot have empty reshape for non-batching model as scalar tensors are "
    "not supported";

/// Only TensorRT's own backend has these.
constexpr const char* tensorRtPlatform = "tensorrt_plan";

template <class Dims> bool areDimensions(const Dims& dims) {
  for (const int64_t size : dims)
    if (size < 1 && size != -1)
      return false;
  return true;
}

/// The products of the dimensions between variable dimensions; -1 if a product
/// overflows.
template <class Dims> std::vector<int64_t> countsBetween(const Dims& dims) {
  std::vector<int64_t> counts{1};
  for (const int64_t size : dims) {
    int64_t& last = counts.back();
    if (size == -1)
      counts.push_back(1);
    else if (last == -1 || __builtin_mul_overflow(last, size, &last))
      last = -1;
  }
  return counts;
}

/// Checks one input or output, of a configuration with the name `model`.
template <class Io> class TensorCheck {
public:
  TensorCheck(const Io& io, FieldPath path, const ModelConfig& config,
              const char* kind, ConfigMistakes& found)
      : io(io), path(std::move(path)), config(config), kind(kind),
        found(found) {}

  void run() {
    if (io.name().empty())
      return add(kind, "must specify 'name'", path);
    const std::string named = kind + ("'" + io.name() + "' ");
    if (io.data_type() == inference::TYPE_INVALID ||
        !inference::DataType_IsValid(io.data_type()))
      add(named, "must specify 'data_type'", path / "data_type");
    checkDims(named);
    if (io.has_reshape())
      checkReshape(named);
    checkTensorRt();
  }

private:
  void add(const std::string& who, const std::string& text,
           const FieldPath& where) {
    found.push_back({who + text + " for " + config.name(), where});
  }

  void checkDims(const std::string& named) {
    if (io.dims().empty())
      return add(named, "must specify 'dims'", path / "dims");
    if (io.dims_size() > mostDims)
      return add(named,
                 "must have at most " + std::to_string(mostDims) +
                     " dimensions",
                 path / "dims");
    if (!areDimensions(io.dims()))
      add(named, std::string("dimension") + dimensionRule, path / "dims");
  }

  void checkReshape(const std::string& named) {
    const auto& shape = io.reshape().shape();
    const FieldPath where = path / "reshape";
    if (shape.empty() && config.max_batch_size() == 0)
      return add(named, emptyReshape, where);
    if (shape.size() > mostDims || !areDimensions(shape))
      return add(named, std::string("reshape dimensions") + dimensionRule,
                 where);
    if (io.dims().empty() || !areDimensions(io.dims()))
      return;
    const std::vector<int64_t> ours = countsBetween(io.dims());
    const std::vector<int64_t> theirs = countsBetween(shape);
    if (ours == theirs)
      return;
    // One that has no variable dimension has another size.
    const bool isVariable = ours.size() > 1 && theirs.size() > 1;
    add(named,
        isVariable && ours.size() != theirs.size()
            ? "has different number of variable-size dimensions for dims and "
              "reshape"
            : "has different size for dims and reshape",
        where);
  }

  void checkTensorRt() {
    if constexpr (requires { io.format(); })
      if (io.format() != ModelInput::FORMAT_NONE && io.dims_size() != 3)
        add("model input ", "NHWC/NCHW require 3 dims", path / "format");
    if (config.platform() == tensorRtPlatform)
      return;
    if (io.is_shape_tensor())
      add("", "shape tensors are only supported for TensorRT platform",
          path / "is_shape_tensor");
    if (io.is_non_linear_format_io())
      add("",
          "Non-linear IO format is only supported for the TensorRT platform",
          path / "is_non_linear_format_io");
  }

  const Io& io;
  const FieldPath path;
  const ModelConfig& config;
  const std::string kind; // `model input ` or `model output `
  ConfigMistakes& found;
};

/// All inputs or all outputs, in the field `field`.
template <class Ios>
void checkAll(const Ios& all, const char* field, const char* kind,
              const ModelConfig& config, ConfigMistakes& found) {
  if (all.size() > mostTensors) {
    found.push_back({std::string("at most ") + std::to_string(mostTensors) +
                         " `" + field + "`s are allowed for " + config.name(),
                     field});
    return;
  }
  std::map<std::string, int> first; // index by name
  for (int i = 0; i < all.size(); ++i) {
    const auto& io = all[i];
    TensorCheck(io, FieldPath(field)[i], config, kind, found).run();
    const auto [other, isNew] = first.emplace(io.name(), i);
    if (!isNew && !io.name().empty() &&
        io.SerializeAsString() != all[other->second].SerializeAsString())
      found.push_back({kind + ("'" + io.name()) +
                           "' is declared twice with different fields for " +
                           config.name(),
                       FieldPath(field)[i]});
  }
}

/// A single mistake about the batch dimension can cause empty reshapes of many
/// inputs; only the first is reported.
void keepFirstEmptyReshape(ConfigMistakes& found) {
  bool isFirst = true;
  std::erase_if(found, [&](const ConfigMistake& mistake) {
    return mistake.text.find(emptyReshape) != std::string::npos &&
           !std::exchange(isFirst, false);
  });
}

template <class Ios> std::set<std::string> namesOfAll(const Ios& all) {
  std::set<std::string> names;
  for (const auto& io : all)
    names.insert(io.name());
  return names;
}

/// What batch inputs and outputs have in common.
template <class BatchIo>
void checkSources(const BatchIo& io, const char* kind, const FieldPath& path,
                  const std::set<std::string>& inputs, const std::string& model,
                  ConfigMistakes& found) {
  if (io.source_input_size() != 1)
    found.push_back(
        {"batch " + std::string(kind) + " kind '" +
             BatchIo::Kind_Name(io.kind()) + "' expects 1 source input, got " +
             std::to_string(io.source_input_size()) + " for " + model,
         path / "source_input"});
  for (const std::string& source : io.source_input())
    if (!inputs.contains(source))
      found.push_back(
          {"unknown source input name '" + source + "' for " + model,
           path / "source_input"});
}

void checkTargets(const BatchOutput& io, const FieldPath& path,
                  const std::set<std::string>& outputs,
                  const std::string& model, ConfigMistakes& found) {
  std::set<std::string> seen;
  for (const std::string& target : io.target_name()) {
    if (!outputs.contains(target))
      found.push_back(
          {"unknown target output name '" + target + "' for " + model,
           path / "target_name"});
    else if (!seen.insert(target).second)
      found.push_back({"target output name '" + target +
                           "' can only be specified once for " + model,
                       path / "target_name"});
  }
}

} // namespace

void checkTensors(const ModelConfig& config, ConfigMistakes& found) {
  checkAll(config.input(), "input", "model input ", config, found);
  checkAll(config.output(), "output", "model output ", config, found);
  keepFirstEmptyReshape(found);
}

void checkBatchTensors(const ModelConfig& config, ConfigMistakes& found) {
  const std::set<std::string> inputs = namesOfAll(config.input());
  const std::set<std::string> outputs = namesOfAll(config.output());
  for (int i = 0; i < config.batch_input_size(); ++i) {
    const BatchInput& io = config.batch_input(i);
    const FieldPath path = FieldPath("batch_input")[i];
    checkSources(io, "input", path, inputs, config.name(), found);
    if (io.data_type() != inference::TYPE_INT32 &&
        io.data_type() != inference::TYPE_FP32)
      found.push_back({"batch input data type must be TYPE_INT32 or TYPE_FP32 "
                       "for " +
                           config.name(),
                       path / "data_type"});
  }
  for (int i = 0; i < config.batch_output_size(); ++i) {
    const BatchOutput& io = config.batch_output(i);
    const FieldPath path = FieldPath("batch_output")[i];
    checkSources(io, "output", path, inputs, config.name(), found);
    checkTargets(io, path, outputs, config.name(), found);
  }
}

} // namespace reciperun::server
