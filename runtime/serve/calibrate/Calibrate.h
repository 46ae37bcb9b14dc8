// Measures the inputs of a model's linear layers on texts, for quantization.

#ifndef RECIPERUN_SERVE_CALIBRATE_CALIBRATE_H
#define RECIPERUN_SERVE_CALIBRATE_CALIBRATE_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/quantized/InputStatistics.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace reciperun::serve {

struct CalibrationOptions {
  /// Texts, conversations or token ids, a line each: see PromptFile.h.
  std::string file;
  int64_t samples = 128; // at most, spread evenly over the file
  int64_t tokens = 512;  // at most, of a sample; the rest of it is left out
  /// Called before each step; a failure cancels.
  std::function<Status()> goesOn = {};
  /// Called with the number of finished samples and the number of all samples.
  std::function<void(int64_t, int64_t)> progress = {};
};

struct Calibration {
  checkpoint::InputStatistics statistics;
  int64_t samples = 0, tokens = 0;
};

/// Runs the model of a directory on the texts, with the directory's plan or one
/// that `recipec` compiles, and measures the inputs of its linear layers and
/// experts. Needs memory for the model and two floats for each input channel,
/// of each expert, too. Fails when the file has no prompt or one without a
/// token, when the plan is for several ranks, and when the model or an input
/// cannot be read.
Expected<Calibration> calibrate(const std::filesystem::path& directory,
                                const CalibrationOptions& options);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_CALIBRATE_CALIBRATE_H
