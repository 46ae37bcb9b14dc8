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

/// The layouts that are written. For fp8 they have a scale for each row, for
/// int4 one for each group of 128; int8, which only compressed-tensors has, one
/// for each row.
enum class QuantizedLayout { compressedTensors, modelOpt };

struct QuantizeOptions {
  sizes::WeightFormat format = sizes::WeightFormat::fp8;
  QuantizedLayout layout = QuantizedLayout::compressedTensors;
  /// Calibrates: for int4 in ModelOpt's layout each matrix gets factors of its
  /// inputs (quantize/ActivationScales.h) in `X.pre_quant_scale`. Called once,
  /// after source and target have been opened. Without it there are none.
  std::function<Expected<InputStatistics>()> calibrate = {};
  int threads = 1;
  int64_t maxFileBytes = int64_t(5'000'000'000);
  /// Called before each piece; a failure cancels.
  std::function<Status()> goesOn = {};
  /// Called with the bytes of the source that are done, and all of them. Those
  /// of calibrated matrices are read twice.
  std::function<void(int64_t, int64_t)> progress = {};
  /// Called with a note on matrices that the format does not fit.
  std::function<void(const std::string&)> note = {};
  Existing existing = Existing::replace;
};

/// Quantizes the matrices of linear layers, recognised by their names
/// (isLinearName) and two dimensions.
/// Tensors that the format cannot hold (int4 needs rows of whole groups) and
/// all others are copied; the written configuration lists them as ignored. A
/// source may be quantized itself. Files of the tokenizer and the configuration
/// are copied, too. Needs memory for a few runs of rows; fails without a trace.
Status quantizeHuggingFace(const std::filesystem::path& source,
                           const std::filesystem::path& directory,
                           const QuantizeOptions& options);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZEDIRECTORY_H
