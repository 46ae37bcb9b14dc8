// The op table that the compiler's IR and the plan share. It is generated from
// the op descriptions (*.ops).

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
  bool isAccumulated = false; // the op adds to this result
};

enum class AttributeType { flag, integer, real, string, strings };
const char* nameOf(AttributeType type);
/// Whether a value has the type. An integer also counts as a real.
bool isOf(AttributeType type, const AttributeValue& value);

struct AttributeInfo {
  std::string_view name;
  AttributeType type = AttributeType::flag;
  bool isInPlans = true; // false: only in the compiler's Graph
  /// Only in plans: the name of the group that the compiler's op refers to.
  bool isGroup = false;
};

struct Traits {
  /// The passes that build, shard and differentiate a model have rules for the
  /// op.
  bool isForward = false;
  /// Ranks of the op's group exchange data: the executor runs it with the
  /// communicator.
  bool isCollective = false;
  /// The op runs concurrently with GPU kernels.
  bool runsBesideKernels = false;
  /// Each rank sends to the next one.
  bool shifts = false;
  /// Each rank sends a part of its own to each other rank.
  bool exchanges = false;
  /// `starts`: the op is asynchronous. An op that `finishes` completes it.
  bool starts = false;
  bool finishes = false;
  /// All operands and results have one shape and type.
  bool isElementwise = false;
  /// A nonlinear elementwise op, which recomputation may run again.
  bool isActivation = false;
  /// The op names a slice of a buffer and does nothing. No plan contains it.
  bool isAlias = false;
  /// A pass expands the op into others. No plan contains it.
  bool isProgramOnly = false;
};

struct OpInfo {
  OpKind kind;
  const char* name; // in plans and dumps
  OpFamily family;
  std::span<const OperandInfo> operands;
  std::span<const OperandInfo> results;
  std::span<const AttributeInfo> attributes;
  /// The operand whose buffer the first result may reuse if the operand's
  /// lifetime ends at this op. -1 for ops that still read operands after they
  /// have written to the result.
  int reuse = -1;
  Traits traits;
};

/// The descriptions of all ops, indexed by indexOf(kind).
std::span<const OpInfo> opTable();
const OpInfo& infoOf(OpKind kind);
inline const Traits& traitsOf(OpKind kind) {
  return infoOf(kind).traits;
}
inline const char* opName(OpKind kind) {
  return infoOf(kind).name;
}
/// Null if the op has no attribute with this name.
const AttributeInfo* findAttribute(OpKind kind, std::string_view name);
std::optional<OpKind> findOp(std::string_view name);

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_OPTABLE_H
