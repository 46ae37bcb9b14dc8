// What the descriptions (*.ops) say of each op: the table that the compiler's
// IR and the plan share.

#ifndef RECIPERUN_OPS_OPTABLE_H
#define RECIPERUN_OPS_OPTABLE_H

#include "runtime/ops/Attributes.h"
#include "runtime/ops/OpKind.h"

#include <optional>
#include <span>
#include <string_view>

namespace reciperun::ops {

struct OperandInfo {
  std::string_view name;
  bool isOptional = false;
  bool isAccumulated = false; // of a result that the op adds to
};

enum class AttributeType { flag, integer, real, string, strings };
const char* nameOf(AttributeType type);
/// Whether a value is of the type; an integer is real, too.
bool isOf(AttributeType type, const AttributeValue& value);

struct AttributeInfo {
  std::string_view name;
  AttributeType type = AttributeType::flag;
  bool isInPlans = true; // rather than in the compiler's Graph alone
};

struct Traits {
  /// The passes that build, shard and differentiate a model have rules for it.
  bool isForward = false;
  /// Ranks of the op's group exchange data: the executor runs it with the
  /// communicator.
  bool isCollective = false;
  /// It runs beside kernels of the device.
  bool runsBesideKernels = false;
  /// It is asynchronous, and an op that `finishes` completes it.
  bool starts = false;
  bool finishes = false;
  /// All operands and results have one shape and type.
  bool isElementwise = false;
  /// A nonlinear elementwise op, which recomputation may run again.
  bool isActivation = false;
  /// It names a part of a buffer and does nothing; no plan holds it.
  bool isAlias = false;
  /// The executor runs it as a part of another op; no plan holds it.
  bool isRuntimeOnly = false;
};

struct OpInfo {
  const char* name; // in plans and dumps
  OpFamily family;
  std::span<const OperandInfo> operands;
  std::span<const OperandInfo> results;
  std::span<const AttributeInfo> attributes;
  /// The operand whose buffer the first result may take when the operand's life
  /// ends there; -1 for ops that read an operand after they began to write.
  int reuse = -1;
  Traits traits;
};

const OpInfo& infoOf(OpKind kind);
inline const Traits& traitsOf(OpKind kind) {
  return infoOf(kind).traits;
}
inline const char* opName(OpKind kind) {
  return infoOf(kind).name;
}
/// Null where the op has no attribute of that name.
const AttributeInfo* findAttribute(OpKind kind, std::string_view name);
std::optional<OpKind> findOp(std::string_view name);

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_OPTABLE_H
