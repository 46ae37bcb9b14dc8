// The element types of the collectives' bench, under nccl-tests' names.

#ifndef RECIPERUN_BENCH_COLLECTIVES_ELEMENTTYPE_H
#define RECIPERUN_BENCH_COLLECTIVES_ELEMENTTYPE_H

#include "runtime/plan/Op.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace reciperun::bench {

struct ElementType {
  std::string_view name; // `float`
  /// The communicators' type of the same size.
  plan::DType carrier = plan::DType::f32;
  /// Whether communicators reduce it. They only move the other types.
  bool isReduced = false;

  int64_t bytes() const { return plan::byteSize(carrier); }
};

std::span<const ElementType> elementTypes();
/// The type of a name; null when there is none.
const ElementType* findElementType(std::string_view name);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_ELEMENTTYPE_H
