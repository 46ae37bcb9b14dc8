// An op of a plan. Kernels and devices include this header alone, so that a
// change of the rest of the plan does not recompile them.

#ifndef RECIPERUN_PLAN_OP_H
#define RECIPERUN_PLAN_OP_H

#include "runtime/ops/Attributes.h"
#include "runtime/ops/DType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::ops {
enum class OpKind : uint16_t; // OpKind.h
} // namespace reciperun::ops

namespace reciperun::plan {

using ops::AttributeValue;
using ops::byteSize;
using ops::DType;
using ops::OpKind;

struct Op {
  OpKind kind;
  std::string name;         // `layers.0.q`, `backward layers.0.q`
  std::vector<int> inputs;  // buffer indices; -1 when an optional one is absent
  std::vector<int> outputs; // buffer indices
  int group = -1;           // for a collective
  /// The kernel's workspace buffer, whose contents are undefined; -1 when it
  /// needs none.
  int workspace = -1;
  ops::Attributes attributes;
};

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_OP_H
