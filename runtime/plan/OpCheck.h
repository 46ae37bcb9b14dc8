// The building blocks of op checks: operands by index, types, sizes, and the
// first error. The checks are in ValidateOps.cpp and the Validate*.cpp file of
// each op family.

#ifndef RECIPERUN_PLAN_OPCHECK_H
#define RECIPERUN_PLAN_OPCHECK_H

#include "runtime/base/Status.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Plan.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace reciperun::plan {

using Types = std::vector<DType>;

inline std::string shapeText(const Buffer& buffer) {
  std::string text = "[";
  for (size_t i = 0; i < buffer.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(buffer.shape[i]);
  return text + "] " + ops::dtypeName(buffer.dtype);
}

/// The size of the last dimension, and the number of rows of that size.
inline int64_t widthOf(const Buffer& buffer) {
  return buffer.shape.empty() ? 1 : buffer.shape.back();
}
inline int64_t rowsOf(const Buffer& buffer) {
  return elementCount(buffer.shape) / std::max<int64_t>(1, widthOf(buffer));
}

/// Checks an op and keeps the first error.
class OpCheck {
public:
  OpCheck(const Plan& plan, const Stage& stage, const Op& op)
      : plan(plan), stage(stage), op(op) {}

  /// The numbers of operands and results match the op's description, and only
  /// optional ones are -1.
  bool arity() {
    const ops::OpInfo& info = ops::infoOf(op.kind);
    if (op.inputs.size() != info.operands.size() ||
        op.outputs.size() != info.results.size())
      return fail("has " + std::to_string(op.inputs.size()) + " inputs and " +
                  std::to_string(op.outputs.size()) + " outputs, not " +
                  std::to_string(info.operands.size()) + " and " +
                  std::to_string(info.results.size()));
    return present(op.inputs, info.operands) &&
           present(op.outputs, info.results) &&
           (op.workspace == -1 || inRange(op.workspace));
  }

  const Buffer& in(size_t i) const { return stage.buffers[op.inputs[i]]; }
  const Buffer& out(size_t i) const { return stage.buffers[op.outputs[i]]; }
  bool hasIn(size_t i) const { return op.inputs[i] >= 0; }
  bool hasOut(size_t i) const { return op.outputs[i] >= 0; }

  bool is(const Buffer& buffer, const Types& types) {
    if (std::find(types.begin(), types.end(), buffer.dtype) != types.end())
      return true;
    return fail("does not take `" + buffer.name + "` of type " +
                ops::dtypeName(buffer.dtype));
  }
  bool same(const Buffer& a, const Buffer& b) {
    return is(b, {a.dtype}) && counts(b, elementCount(a.shape));
  }
  /// The buffer has the type in which kernels compute for operands of
  /// `operand`'s type.
  bool isMath(const Buffer& buffer, const Buffer& operand) {
    return is(buffer, {operand.dtype == DType::f64 ? DType::f64 : DType::f32});
  }
  /// The buffer has a type for a gradient of `operand`: the compute type of
  /// kernels, or bf16 if the operand is bf16.
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
  /// The op has a workspace of at least this many f32 elements.
  bool workspace(int64_t elements) {
    if (op.workspace < 0)
      return fail("needs a workspace");
    const Buffer& buffer = stage.buffers[op.workspace];
    return is(buffer, {DType::f32}) &&
           (elementCount(buffer.shape) >= elements ||
            fail("wants a workspace of " + std::to_string(elements) +
                 " elements, `" + buffer.name + "` is " + shapeText(buffer)));
  }
  /// An attribute is absent or one of the known words.
  bool isWord(const char* name, std::initializer_list<const char*> known) {
    const std::string& word = op.attributes.string(name);
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
    if (failure.isOk())
      failure = Status::error(what);
    return false;
  }

  const Plan& plan;
  const Stage& stage;
  const Op& op;
  Status failure;

private:
  bool present(const std::vector<int>& numbers,
               std::span<const ops::OperandInfo> infos) {
    for (size_t i = 0; i < numbers.size(); ++i)
      if (!(infos[i].isOptional && numbers[i] == -1) && !inRange(numbers[i]))
        return false;
    return true;
  }
  bool inRange(int number) {
    return (number >= 0 && number < int(stage.buffers.size())) ||
           fail("names buffer " + std::to_string(number) + " of " +
                std::to_string(stage.buffers.size()));
  }
};

inline const Types real = {DType::f64, DType::f32, DType::bf16};
inline const Types wide = {DType::f64, DType::f32};

/// The checks of each op family, in the file named after it
/// (ValidateAttention.cpp).
bool checkActivationOp(OpCheck& c);
bool checkAttentionOp(OpCheck& c);
bool checkCollectiveOp(OpCheck& c);
bool checkDenseOp(OpCheck& c);
bool checkExpertsOp(OpCheck& c);
bool checkLossOp(OpCheck& c);
bool checkMoveOp(OpCheck& c);
bool checkNormOp(OpCheck& c);
bool checkOptimizerOp(OpCheck& c);
bool checkQuantizationOp(OpCheck& c);
bool checkSamplingOp(OpCheck& c);
bool checkStateSpaceOp(OpCheck& c);
/// Checks counts [g,n,m] of rows [g,p,..] (ValidateExperts.cpp).
bool checkCounts(OpCheck& c, const Buffer& counts, const Buffer& rows);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_OPCHECK_H
