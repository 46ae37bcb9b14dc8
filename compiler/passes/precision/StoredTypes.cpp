// Maps type names of a recipe to element types.

#include "compiler/passes/precision/StoredTypes.h"

#include <cassert>

namespace recipec::passes {
namespace {

ir::DType typeAt(const recipe::Recipe& recipe, const char* path) {
  const std::string& name = recipe.string(path);
  if (name == "fp64")
    return ir::DType::f64;
  if (name == "bf16")
    return ir::DType::bf16;
  assert(name == "fp32" && "a type that is lowered");
  return ir::DType::f32;
}

} // namespace

StoredTypes::StoredTypes(const recipe::Recipe& recipe)
    : gradients(typeAt(recipe, "precision.grads")),
      reduction(typeAt(recipe, "comm.reduce")),
      moments(typeAt(recipe, "precision.moments")) {}

} // namespace recipec::passes
