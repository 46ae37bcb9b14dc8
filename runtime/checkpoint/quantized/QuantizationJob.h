// Chooses what becomes of each tensor of a directory that is quantized.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZATIONJOB_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZATIONJOB_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/checkpoint/quantized/StoredWeights.h"
#include "runtime/sizes/WeightScales.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// A tensor of the source and how it is converted: quantized, dequantized when
/// the source is quantized, or else copied.
struct QuantizationJob {
  std::string name; // `X.weight` of a matrix, quantized or not
  ModelFiles::Place place;
  const StoredWeight* stored = nullptr; // when the source is quantized
  int64_t rows = 0, columns = 0;
  bool isLinear = false;    // has the name of a linear layer's matrix
  bool isQuantized = false; // in the target
  int input = -1;           // index in the calibration; -1: not measured
  int part = -1;            // of the input's tokens, likewise; -1: all of them

  /// In the source.
  int64_t bytes() const;
  /// `X`, of a name `X.weight`.
  std::string module() const;
};

/// The jobs of a model. `model` and `stored` outlive them. Fails when the
/// format supports no matrix of a linear layer; the message names the shapes.
Expected<std::vector<QuantizationJob>> chooseJobs(const ModelFiles& model,
                                                  const StoredWeights& stored,
                                                  sizes::WeightFormat format);

/// A note on the matrices of linear layers whose shapes the format does not
/// support; empty when there are none.
std::string unfitNote(const std::vector<QuantizationJob>& jobs,
                      sizes::WeightFormat format);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZATIONJOB_H
