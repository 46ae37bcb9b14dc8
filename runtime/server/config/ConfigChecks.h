// The checks of a model's configuration, by what they are about. They need no
// other model and append to a list, so that a file's mistakes are reported at
// once. Texts are Triton's (core/src/model_config_utils.cc) where it has one.

#ifndef RECIPERUN_SERVER_CONFIG_CONFIGCHECKS_H
#define RECIPERUN_SERVER_CONFIG_CONFIGCHECKS_H

#include "runtime/server/config/FieldPath.h"
#include "runtime/server/config/ModelConfig.h"

#include <string>
#include <vector>

namespace reciperun::server {

struct ConfigMistake {
  std::string text;
  FieldPath field;
};

using ConfigMistakes = std::vector<ConfigMistake>;

/// All mistakes of a complete configuration, in the order in which Triton looks
/// for them.
ConfigMistakes mistakesOf(const inference::ModelConfig& config,
                          const ServerGpus& gpus);

/// Names, data types, dimensions and reshapes of inputs and outputs.
void checkTensors(const inference::ModelConfig& config, ConfigMistakes& found);
/// `batch_input` and `batch_output`.
void checkBatchTensors(const inference::ModelConfig& config,
                       ConfigMistakes& found);
void checkDynamicBatching(const inference::ModelConfig& config,
                          ConfigMistakes& found);
void checkSequenceBatching(const inference::ModelConfig& config,
                           ConfigMistakes& found);
void checkInstanceGroups(const inference::ModelConfig& config,
                         const ServerGpus& gpus, ConfigMistakes& found);
/// `model_warmup`: its inputs are the model's, with those that sequence
/// batching adds. Settings with a batch size of 0 are not used, and not
/// checked.
void checkWarmup(const inference::ModelConfig& config, ConfigMistakes& found);
/// The steps of an ensemble and the tensors between them.
void checkEnsembleSteps(const inference::ModelConfig& config,
                        ConfigMistakes& found);

/// The elements of a tensor; -1 where a dimension is variable or the product
/// overflows.
template <class Dims> int64_t elementCountOf(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t size : dims)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return -1;
  return count;
}

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_CONFIGCHECKS_H
