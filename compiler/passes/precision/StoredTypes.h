// The types in which gradients and moments are stored and reduced.

#ifndef RECIPEC_PASSES_PRECISION_STOREDTYPES_H
#define RECIPEC_PASSES_PRECISION_STOREDTYPES_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

struct StoredTypes {
  explicit StoredTypes(const recipe::Recipe& recipe);

  ir::DType gradients; // `precision.grads`
  ir::DType reduction; // `comm.reduce`: for sums over ranks and stages
  ir::DType moments;   // `precision.moments`
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_STOREDTYPES_H
