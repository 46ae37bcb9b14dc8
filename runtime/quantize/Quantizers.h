// Quantizes weights to fp8, int8 and int4, and back.
//
// A weight is a matrix of floats [n,k]. The stored layouts are those of
// `quantized_linear` (ops/quantization.ops), and sizes/WeightScales.h has their
// shapes. Rows are quantized in runs, so that a caller needs memory for a run
// only. The results depend on neither the runs nor the threads.
//
// A scale maps the largest magnitude of its block to the largest value of the
// format (448, 127 or 7), and is 1 for a block of zeros. Values are rounded to
// nearest, ties to even, and clamped.

#ifndef RECIPERUN_QUANTIZE_QUANTIZERS_H
#define RECIPERUN_QUANTIZE_QUANTIZERS_H

#include "runtime/base/Status.h"
#include "runtime/sizes/WeightScales.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace reciperun::quantize {

using sizes::WeightFormat;
using sizes::WeightScales;

/// How a weight is stored.
struct Scheme {
  WeightFormat format = WeightFormat::fp8;
  WeightScales scales = WeightScales::rows;
  /// For int4 groups, scales up to 25 % smaller are tried too, and the one with
  /// the least square error is used. It may clamp the largest values.
  bool searchesClip = false;

  bool operator==(const Scheme&) const = default;
};

/// The scheme that serving uses for a format: scales of rows for fp8 and int8,
/// of groups for int4.
Scheme usualScheme(WeightFormat format);

/// The scheme that a plan names (plan::WeightQuantization); the plan has been
/// validated. Int4 groups search their clip.
Scheme schemeOf(std::string_view format, std::string_view scales);

/// The rows of a run must begin at a multiple of this: 128 for squares.
int64_t rowsPerScale(WeightScales scales);
/// Bytes of a stored row, and the number of scales of `rows` rows.
int64_t rowBytes(const Scheme& scheme, int64_t columns);
int64_t scaleCount(const Scheme& scheme, int64_t rows, int64_t columns);

/// max |x|. NaN counts as infinity.
float largestMagnitude(std::span<const float> values, int threads);

/// Quantizes a run of rows. `values` is [rows, columns], `data` [rows,
/// rowBytes] and `scales` [scaleCount]. For `tensor`, `largest` is the largest
/// magnitude of the whole weight; otherwise it is not read. Fails for NaN or
/// infinity, and for an odd number of columns in int4. The search for clipped
/// scales weights the square errors by `importance` [columns]; if it is empty,
/// all columns have equal weight.
Status quantizeRows(const Scheme& scheme, std::span<const float> values,
                    int64_t columns, float largest, std::span<uint8_t> data,
                    std::span<float> scales, int threads,
                    std::span<const float> importance = {});

/// Writes the values of a run of rows to `values` [rows, columns].
void dequantizeRows(const Scheme& scheme, std::span<const uint8_t> data,
                    std::span<const float> scales, int64_t columns,
                    std::span<float> values, int threads);

/// A whole weight.
struct QuantizedMatrix {
  Scheme scheme;
  int64_t rows = 0, columns = 0;
  std::vector<uint8_t> data; // [rows, rowBytes]
  std::vector<float> scales; // [scaleCount]
};
Expected<QuantizedMatrix>
quantizeMatrix(const Scheme& scheme, std::span<const float> values,
               int64_t columns, int threads,
               std::span<const float> importance = {});
std::vector<float> dequantizeMatrix(const QuantizedMatrix& matrix, int threads);

} // namespace reciperun::quantize

#endif // RECIPERUN_QUANTIZE_QUANTIZERS_H
