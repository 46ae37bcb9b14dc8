// The quantized weights of a Hugging Face directory, in the layouts that other
// programs publish. For a module `X` with a matrix [n,k]:
//
//   | layout                                 | tensors                        |
//   |----------------------------------------|--------------------------------|
//   | fp8 of transformers                    | X.weight F8_E4M3 [n,k],        |
//   |                                        | X.weight_scale_inv of blocks   |
//   | compressed-tensors, float-, int-, and  | X.weight F8_E4M3 or I8 [n,k],  |
//   | naive-quantized; ModelOpt's FP8        | X.weight_scale                 |
//   | compressed-tensors, pack-quantized     | X.weight_packed I32 of 4 int8  |
//   |                                        | or 8 int4 along a row, each    |
//   |                                        | with an offset of 128 or 8;    |
//   |                                        | X.weight_scale, X.weight_shape |
//   | ModelOpt's W4A16 and W4A16_AWQ         | X.weight U8 [n/2,k] of two's   |
//   |                                        | complement int4 of rows 2i and |
//   |                                        | 2i + 1; X.weight_scale;        |
//   |                                        | X.pre_quant_scale [k]          |
//
// An element's value is its code times its scale. The number of scales tells
// which elements share one: all, a row, a group of a row, or a block.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_STOREDWEIGHTS_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_STOREDWEIGHTS_H

#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/sizes/WeightScales.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// A quantized matrix [rows, columns] and its tensors.
struct StoredWeight {
  enum class Packing {
    bytes,       // one each, in the order of the matrix
    wordsOfRow,  // I32 along a row, with an offset
    pairsOfRows, // two rows in a U8, in two's complement
  };
  sizes::WeightFormat format = sizes::WeightFormat::fp8;
  Packing packing = Packing::bytes;
  int64_t rows = 0, columns = 0;
  ModelFiles::Place data, scale;
  std::optional<ModelFiles::Place> inputScale; // multiplies columns
  /// The elements that share a scale.
  int64_t scaleRows = 0, scaleColumns = 0;

  int64_t scalesAcross() const {
    return (columns + scaleColumns - 1) / scaleColumns;
  }
  /// `int4 in groups of 128`, for messages.
  std::string description() const;
};

/// The quantized weights of a directory.
class StoredWeights {
public:
  /// Finds the quantized weights; none in a directory that is not quantized.
  /// Fails when the directory's description or a tensor is of an unsupported
  /// kind, and when a weight has no scales or they have the wrong shape.
  /// `model` must outlive the object.
  static Expected<StoredWeights> open(const ModelFiles& model);

  /// The weight with the name `X.weight`, as in an unquantized checkpoint; null
  /// when there is none.
  const StoredWeight* find(std::string_view name) const;
  /// Whether a tensor belongs to a quantized weight or to quantized
  /// activations.
  bool isAuxiliary(std::string_view name) const;
  bool empty() const { return weights.empty(); }

private:
  std::map<std::string, StoredWeight, std::less<>> weights;
  bool isQuantized = false;
};

/// Reads rows of a weight, as floats or as they are stored.
class StoredWeightReader {
public:
  /// What happens to the factors of the columns, `X.pre_quant_scale`.
  enum class InputScales {
    folded, // multiplied into the values
    apart,  // left out: the caller multiplies the weight's input by them
  };

  /// Reads the scales. `weight` must outlive the object.
  static Expected<StoredWeightReader>
  open(const StoredWeight& weight, InputScales wanted = InputScales::folded);

  /// Fills `out` [count, columns] with the values of rows [first, first +
  /// count).
  Status readRows(int64_t first, int64_t count, std::span<float> out);

  /// Fills `codes` [count, columns] with the codes, one byte each: the bits of
  /// fp8 and int8, and for int4 the value + 8.
  Status readCodes(int64_t first, int64_t count, std::span<uint8_t> codes);

  /// Converts the codes of whole rows, from row `first` on, to values.
  void valuesOf(int64_t first, std::span<const uint8_t> codes,
                std::span<float> out) const;

  /// The scale of an element.
  float scaleAt(int64_t row, int64_t column) const {
    return scales[size_t(row / weight->scaleRows * weight->scalesAcross() +
                         column / weight->scaleColumns)];
  }

private:
  explicit StoredWeightReader(const StoredWeight& weight) : weight(&weight) {}
  void scale(int64_t first, int64_t count, float* out) const;

  const StoredWeight* weight;
  std::vector<float> scales;      // [blocks down, scalesAcross]
  std::vector<float> inputScales; // [columns]; empty if none are folded
  std::vector<std::byte> stored;
  std::vector<uint8_t> codes;
};

/// The factors of a weight's columns, by which its input is multiplied; all 1
/// when the weight has none.
Expected<std::vector<float>> readInputScales(const StoredWeight& weight);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_STOREDWEIGHTS_H
