// What checks of an op are made of: its operands by number, types, sizes, and
// the first finding. ValidateOps.cpp has the checks, and those beside it.

#ifndef RECIPERUN_PLAN_OPCHECK_H
#define RECIPERUN_PLAN_OPCHECK_H

#include "runtime/plan/Mesh.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/Status.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace reciperun::plan {

using Types = std::vector<DType>;

inline const char* typeName(DType type) {
  switch (type) {
  case DType::f64:
    return "f64";
  case DType::f32:
    return "f32";
  case DType::bf16:
    return "bf16";
  case DType::i32:
    return "i32";
  case DType::i64:
    return "i64";
  case DType::u16:
    return "u16";
  case DType::f8e4m3:
    return "f8e4m3";
  case DType::f8e5m2:
    return "f8e5m2";
  case DType::f8e8m0:
    return "f8e8m0";
  }
  return "";
}

inline std::string shapeText(const Buffer& buffer) {
  std::string text = "[";
  for (size_t i = 0; i < buffer.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(buffer.shape[i]);
  return text + "] " + typeName(buffer.dtype);
}

/// Elements of the last dimension, and how many such rows there are.
inline int64_t widthOf(const Buffer& buffer) {
  return buffer.shape.empty() ? 1 : buffer.shape.back();
}
inline int64_t rowsOf(const Buffer& buffer) {
  return elementCount(buffer.shape) / std::max<int64_t>(1, widthOf(buffer));
}

/// Collects the first thing that is wrong with an op.
class OpCheck {
public:
  OpCheck(const Plan& plan, const Stage& stage, const Op& op)
      : plan(plan), stage(stage), op(op) {}

  /// The op has these many operands; the last `optionalOutputs` and the inputs
  /// of `optionalInputs` may be -1.
  bool arity(size_t inputs, size_t outputs, size_t optionalOutputs = 0,
             std::initializer_list<size_t> optionalInputs = {}) {
    if (op.inputs.size() != inputs || op.outputs.size() != outputs)
      return fail("has " + std::to_string(op.inputs.size()) + " inputs and " +
                  std::to_string(op.outputs.size()) + " outputs, not " +
                  std::to_string(inputs) + " and " + std::to_string(outputs));
    for (size_t i = 0; i < inputs; ++i) {
      bool mayLack = std::find(optionalInputs.begin(), optionalInputs.end(),
                               i) != optionalInputs.end();
      if (!(mayLack && op.inputs[i] == -1) && !inRange(op.inputs[i]))
        return false;
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      bool absent = op.outputs[i] == -1 && i >= outputs - optionalOutputs;
      if (!absent && !inRange(op.outputs[i]))
        return false;
    }
    return op.workspace == -1 || inRange(op.workspace);
  }

  const Buffer& in(size_t i) const { return stage.buffers[op.inputs[i]]; }
  const Buffer& out(size_t i) const { return stage.buffers[op.outputs[i]]; }
  bool hasIn(size_t i) const { return op.inputs[i] >= 0; }
  bool hasOut(size_t i) const { return op.outputs[i] >= 0; }

  bool is(const Buffer& buffer, const Types& types) {
    if (std::find(types.begin(), types.end(), buffer.dtype) != types.end())
      return true;
    return fail("does not take `" + buffer.name + "` of type " +
                typeName(buffer.dtype));
  }
  bool same(const Buffer& a, const Buffer& b) {
    return is(b, {a.dtype}) && counts(b, elementCount(a.shape));
  }
  /// Of the type in which kernels compute for operands of `operand`'s type.
  bool isMath(const Buffer& buffer, const Buffer& operand) {
    return is(buffer, {operand.dtype == DType::f64 ? DType::f64 : DType::f32});
  }
  /// A gradient of what is computed from `operand`: as wide as kernels compute,
  /// or bf16 where that is the operand's type.
  bool isGradient(const Buffer& buffer, const Buffer& operand) {
    return operand.dtype == DType::bf16 ? is(buffer, {DType::f32, DType::bf16})
                                        : isMath(buffer, operand);
  }
  bool counts(const Buffer& buffer, int64_t rows, int64_t width) {
    int64_t elements = 0;
    return __builtin_mul_overflow(rows, width, &elements)
               ? fail("wants more than 2^63 elements in `" + buffer.name + "`")
               : counts(buffer, elements);
  }
  bool counts(const Buffer& buffer, int64_t elements) {
    return elementCount(buffer.shape) == elements ||
           fail("wants " + std::to_string(elements) + " elements in `" +
                buffer.name + "`, which is " + shapeText(buffer));
  }
  bool rank(const Buffer& buffer, size_t rank) {
    return buffer.shape.size() == rank ||
           fail("wants " + std::to_string(rank) + " dimensions in `" +
                buffer.name + "`, which is " + shapeText(buffer));
  }
  bool shaped(const Buffer& buffer, const std::vector<int64_t>& shape) {
    if (buffer.shape == shape)
      return true;
    Buffer wanted;
    wanted.dtype = buffer.dtype;
    wanted.shape = shape;
    return fail("wants " + shapeText(wanted) + " in `" + buffer.name +
                "`, which is " + shapeText(buffer));
  }
  bool divides(int64_t divisor, int64_t number, const char* what) {
    return (divisor > 0 && number % divisor == 0) ||
           fail(std::string(what) + ": " + std::to_string(divisor) +
                " does not divide " + std::to_string(number));
  }
  bool axis(const std::string& name) {
    return name.empty() || hasExtent(plan.mesh, name) ||
           fail("names the axis `" + name + "`, which the mesh lacks");
  }
  bool grouped() {
    return (op.group >= 0 && op.group < int(plan.mesh.groups.size())) ||
           fail("needs a group, and " + std::to_string(op.group) +
                " is none of the " + std::to_string(plan.mesh.groups.size()));
  }
  /// The op may scribble on at least that many f32 elements.
  bool workspace(int64_t elements) {
    if (op.workspace < 0)
      return fail("needs a workspace");
    const Buffer& buffer = stage.buffers[op.workspace];
    return is(buffer, {DType::f32}) &&
           (elementCount(buffer.shape) >= elements ||
            fail("wants a workspace of " + std::to_string(elements) +
                 " elements, `" + buffer.name + "` is " + shapeText(buffer)));
  }
  /// An attribute, which may be absent, is one of the words that are known.
  bool isWord(const char* name, std::initializer_list<const char*> known) {
    const std::string& word = op.string(name);
    if (word.empty() ||
        std::find(known.begin(), known.end(), word) != known.end())
      return true;
    return fail("has `" + std::string(name) + "` = `" + word +
                "`, which is not known");
  }
  int64_t ranksOfGroup() const {
    return groupSize(plan.mesh, plan.mesh.groups[op.group]);
  }
  bool fail(const std::string& what) {
    if (failure)
      failure = Status::error(what);
    return false;
  }

  const Plan& plan;
  const Stage& stage;
  const Op& op;
  Status failure;

private:
  bool inRange(int number) {
    return (number >= 0 && number < int(stage.buffers.size())) ||
           fail("names buffer " + std::to_string(number) + " of " +
                std::to_string(stage.buffers.size()));
  }
};

inline const Types real = {DType::f64, DType::f32, DType::bf16};
inline const Types wide = {DType::f64, DType::f32};

/// The checks of attention (ValidateAttention.cpp).
bool checkAttentionOp(OpCheck& c);
/// Those of the ops of mixtures of experts (ValidateExperts.cpp).
bool checkExpertsOp(OpCheck& c);
/// That of counts [g,n,m] of rows [g,p,..] (likewise).
bool checkCounts(OpCheck& c, const Buffer& counts, const Buffer& rows);
/// Those of products of dense weights (ValidateLinears.cpp).
bool checkLinearOp(OpCheck& c);
/// Those of the loss (ValidateLoss.cpp).
bool checkLossOp(OpCheck& c);
/// Those of collectives, slices and copies (ValidateMoves.cpp).
bool checkMoveOp(OpCheck& c);
/// Those of matrices of 8 bits (ValidateQuantized.cpp).
bool checkQuantizedOp(OpCheck& c);
/// Those of state space layers (ValidateStateSpace.cpp).
bool checkStateSpaceOp(OpCheck& c);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_OPCHECK_H
