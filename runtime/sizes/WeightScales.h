// The formats of quantized weights and their scales, as the compiler, the
// validation, the kernels and the quantizers read them: the operands of
// `quantized_linear` (ops/quantization.ops).

#ifndef RECIPERUN_SIZES_WEIGHTSCALES_H
#define RECIPERUN_SIZES_WEIGHTSCALES_H

#include "runtime/ops/DType.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reciperun::sizes {

/// How an element of a weight is stored: as f8e4m3, as i8, or as half a u8.
enum class WeightFormat { fp8, int8, int4 };

/// The elements that share a scale: all, a row, `weightGroup` elements of a
/// row, or a square of `weightGroup` by `weightGroup`.
enum class WeightScales { tensor, rows, groups, squares };

/// The length of a group and the side of a square, in elements.
inline constexpr int64_t weightGroup = 128;

/// `fp8`, `int8`, `int4`.
const char* weightFormatName(WeightFormat format);
std::optional<WeightFormat> findWeightFormat(std::string_view name);

/// The format of a weight with elements of `type`; nullopt for types that do
/// not store quantized weights.
std::optional<WeightFormat> weightFormatOf(ops::DType type);
/// The type that stores a format.
ops::DType storedType(WeightFormat format);

/// `tensor`, `rows`, `groups`, `squares`.
const char* weightScalesName(WeightScales scales);
/// Parses the attribute `scales`. Returns `tensor` for an empty value, which
/// means that the attribute is absent, and nullopt for an unknown one.
std::optional<WeightScales> findWeightScales(std::string_view word);

/// The number of stored elements of a row of `k` weights. It is also the size
/// in bytes, since all formats are stored in types of one byte.
int64_t storedWidth(WeightFormat format, int64_t k);
/// The shape of the scales of a weight [n,k].
std::vector<int64_t> scaleShape(WeightScales scales, int64_t n, int64_t k);
/// Whether scales of squares of a weight [n,k] have the layout of
/// `quantized_linear` as well as that of `scaled_matmul` (ScaleBlocks.h).
bool fitsSquares(int64_t n, int64_t k);
/// The largest magnitude that a format stores, which a scale maps a block's
/// maximum to: 448, 127 or 7.
float largestStored(WeightFormat format);

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_WEIGHTSCALES_H
