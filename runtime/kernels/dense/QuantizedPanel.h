// Dequantizes rows of a weight to bf16 for matmuls that read them often.

#ifndef RECIPERUN_KERNELS_DENSE_QUANTIZEDPANEL_H
#define RECIPERUN_KERNELS_DENSE_QUANTIZEDPANEL_H

#include "runtime/device/BFloat16.h"
#include "runtime/kernels/dense/QuantizedRows.h"

namespace reciperun::kernels {

/// Writes the k elements of a row to `out`. With scales for groups or squares,
/// writes the dequantized values, rounded; otherwise the quantized values
/// without their scale, which are exact.
void dequantizeRow(const QuantizedWeight& weight, int64_t row,
                   device::bf16* out);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_QUANTIZEDPANEL_H
