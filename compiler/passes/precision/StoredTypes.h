// The types that a recipe has gradients and moments kept in.

#ifndef RECIPEC_PASSES_PRECISION_STOREDTYPES_H
#define RECIPEC_PASSES_PRECISION_STOREDTYPES_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

struct StoredTypes {
  explicit StoredTypes(const recipe::Recipe& recipe);

  ir::DType gradients; // `precision.grads`
  ir::DType reduction; // `comm.reduce`: of their sums over ranks and stages
  ir::DType moments;   // `precision.moments`
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_STOREDTYPES_H
