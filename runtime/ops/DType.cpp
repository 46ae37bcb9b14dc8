// Names and sizes of the element types.

#include "runtime/ops/DType.h"

#include <array>

namespace reciperun::ops {
namespace {

struct TypeInfo {
  const char* name;
  int64_t bytes;
};
// In the order of DType.
constexpr std::array<TypeInfo, 11> infos = {{{"f64", 8},
                                             {"f32", 4},
                                             {"bf16", 2},
                                             {"i32", 4},
                                             {"i64", 8},
                                             {"u16", 2},
                                             {"f8e4m3", 1},
                                             {"f8e5m2", 1},
                                             {"f8e8m0", 1},
                                             {"i8", 1},
                                             {"u8", 1}}};

} // namespace

int64_t byteSize(DType type) {
  return infos[size_t(type)].bytes;
}

const char* dtypeName(DType type) {
  return infos[size_t(type)].name;
}

std::optional<DType> findDType(std::string_view name) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name)
      return DType(i);
  return std::nullopt;
}

DType accumulationType(DType compute) {
  return compute == DType::f64 ? DType::f64 : DType::f32;
}

} // namespace reciperun::ops
