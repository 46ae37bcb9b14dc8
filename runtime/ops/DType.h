// The element types of tensors.

#ifndef RECIPERUN_OPS_DTYPE_H
#define RECIPERUN_OPS_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace reciperun::ops {

/// `u16` stores the lower halves of f32 masters (device/MasterHalves.h).
/// `f8e4m3` and `f8e5m2` are the fp8 formats of Micikevicius et al. 2022 (arXiv
/// 2209.05433), table 1. `f8e8m0` stores powers of two: the scales of the OCP
/// microscaling formats. `i8` and `u8` store quantized weights; a `u8` holds
/// two int4 values (quantized_linear in quantization.ops).
enum class DType {
  f64,
  f32,
  bf16,
  i32,
  i64,
  u16,
  f8e4m3,
  f8e5m2,
  f8e8m0,
  i8,
  u8
};

int64_t byteSize(DType type);
const char* dtypeName(DType type);
std::optional<DType> findDType(std::string_view name);

/// The type of statistics and gradients for compute type `compute`: f64 for
/// f64, f32 for the others.
DType accumulationType(DType compute);

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_DTYPE_H
