// Writes a Hugging Face directory with quantized weights, in a layout that
// other programs read (StoredWeights.h).

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZEDIRECTORY_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZEDIRECTORY_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/ExportDirectory.h"
#include "runtime/checkpoint/quantized/InputStatistics.h"
#include "runtime/sizes/WeightScales.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace reciperun::checkpoint {

/// The output layouts. fp8 and int8 have a scale for each row, int4 one for
/// each group of 128. Only compressed-tensors has int8.
enum class QuantizedLayout { compressedTensors, modelOpt };

struct QuantizeOptions {
  sizes::WeightFormat format = sizes::WeightFormat::fp8;
  QuantizedLayout layout = QuantizedLayout::compressedTensors;
  /// Runs a calibration, for int4 in ModelOpt's layout only. Matrices then get
  /// factors of their inputs (quantize/ActivationScales.h), in
  /// `X.pre_quant_scale` or folded into a norm; without a calibration there are
  /// none. Called once, after source and target have been opened.
  std::function<Expected<InputStatistics>()> calibrate = {};
  int threads = 1;
  int64_t maxFileBytes = int64_t(5'000'000'000);
  /// Called before each piece; a failure cancels.
  std::function<Status()> goesOn = {};
  /// Called with the bytes of the source that have been processed, and their
  /// total. Calibrated matrices are read, and counted, twice.
  std::function<void(int64_t, int64_t)> progress = {};
  /// Called with notes, such as on matrices whose shapes the format does not
  /// support.
  std::function<void(const std::string&)> note = {};
  Existing existing = Existing::replace;
};

/// Quantizes the matrices of linear layers, recognised by their names
/// (isLinearName) and two dimensions.
/// Tensors that the format cannot hold (int4 needs rows of whole groups) and
/// all others are copied; the written configuration lists them as ignored. The
/// source may itself be quantized. Files of the tokenizer and the configuration
/// are copied too. Needs memory for a few runs of rows. A failure leaves no
/// files.
Status quantizeHuggingFace(const std::filesystem::path& source,
                           const std::filesystem::path& directory,
                           const QuantizeOptions& options);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZEDIRECTORY_H
