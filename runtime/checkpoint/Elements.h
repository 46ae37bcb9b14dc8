// The element types of safetensors and their conversion to compute types.
//
// A file may hold F64, F32, F16 or BF16; the arena holds f64, f32 or bf16.
// Narrowing conversions round to nearest, ties to even (IEEE 754, 4.3.1).
// Conversions of masters to parameters break ties as the training steps do.

#ifndef RECIPERUN_CHECKPOINT_ELEMENTS_H
#define RECIPERUN_CHECKPOINT_ELEMENTS_H

#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace reciperun::checkpoint {

/// A floating-point type of stored weights.
enum class ElementType { f64, f32, f16, bf16 };

int64_t byteSize(ElementType type);
/// The type with a safetensors name (`BF16`); nullopt for integers and others.
std::optional<ElementType> findElementType(std::string_view dtype);
/// The safetensors name of a plan's type: `F64`, `F32`, `BF16`, `I32`, `I64`.
std::string_view safetensorsName(plan::DType type);

/// Converts `count` elements, little-endian as in the file, to a compute type
/// (f64, f32 or bf16). The ranges must not overlap. F64 to bf16 rounds twice,
/// through f32.
void convertElements(ElementType from, const std::byte* in, plan::DType to,
                     std::byte* out, int64_t count);

/// Converts masters to bf16 parameters, rounded as the optimizer does
/// (device/MasterHalves.h): where convertElements breaks ties to even, away
/// from zero.
void convertMasters(ElementType from, const std::byte* in, std::byte* out,
                    int64_t count);

float bf16ToFloat(uint16_t bits);
uint16_t floatToBf16(float value);
float f16ToFloat(uint16_t bits);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_ELEMENTS_H
