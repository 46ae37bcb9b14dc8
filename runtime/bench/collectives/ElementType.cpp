// See ElementType.h.

#include "runtime/bench/collectives/ElementType.h"

#include <algorithm>
#include <iterator>

namespace reciperun::bench {
namespace {

using plan::DType;

/// A plan has no unsigned types of 4 and 8 bytes and no half; a type of the
/// same size moves their elements.
constexpr ElementType types[] = {
    {"int8", DType::i8, false},       {"uint8", DType::u8, false},
    {"int32", DType::i32, true},      {"uint32", DType::i32, false},
    {"int64", DType::i64, true},      {"uint64", DType::i64, false},
    {"half", DType::u16, false},      {"float", DType::f32, true},
    {"double", DType::f64, true},     {"bfloat16", DType::bf16, true},
    {"f8e4m3", DType::f8e4m3, false}, {"f8e5m2", DType::f8e5m2, false},
};

} // namespace

std::span<const ElementType> elementTypes() {
  return types;
}

const ElementType* findElementType(std::string_view name) {
  const auto found = std::ranges::find(types, name, &ElementType::name);
  return found == std::end(types) ? nullptr : &*found;
}

} // namespace reciperun::bench
