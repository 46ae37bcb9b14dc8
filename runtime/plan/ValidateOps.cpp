// One op: its operands exist, have the right types, and sizes that agree. Ops
// that have much in common are checked in files of their own.
//
// Kernels treat leading dimensions as one and never look at a shape twice, so
// the checks count elements the way the kernels do: a linear's x has m*k
// elements, y has m*n. What passes here cannot reach beyond its buffers.
// Comments of Ops.def are the specification.

#include "runtime/plan/OpCheck.h"
#include "runtime/plan/Validate.h"

#include <map>
#include <set>
#include <string_view>

namespace reciperun::plan {
namespace {

bool checkEmbedding(OpCheck& c, bool backward) {
  if (!c.arity(2, 1))
    return false;
  const Buffer& table = backward ? c.out(0) : c.in(1);
  const Buffer& rows = backward ? c.in(1) : c.out(0);
  return c.is(c.in(0), {DType::i32}) && c.rank(table, 2) && c.is(rows, real) &&
         (backward ? c.isGradient(table, rows) : c.is(table, {rows.dtype})) &&
         c.counts(rows, elementCount(c.in(0).shape), table.shape[1]) &&
         c.axis(c.op.string("axis"));
}

/// One element of `bias` for each of the last ones of a token.
bool checkBias(OpCheck& c, const Buffer& tokens, const Buffer& bias) {
  return c.is(tokens, real) &&
         c.divides(elementCount(bias.shape), elementCount(tokens.shape),
                   "the width of the bias");
}

/// As many elements as the last dimensions of x, one of them or more.
bool coversRows(OpCheck& c, const Buffer& weight, const Buffer& x) {
  const int64_t elements = elementCount(weight.shape);
  int64_t covered = 1;
  for (size_t i = x.shape.size(); i > 0; --i)
    if (covered *= x.shape[i - 1]; covered == elements)
      return true;
  return c.fail("wants the last dimensions of " + shapeText(x) + " in `" +
                weight.name + "`, which is " + shapeText(weight));
}

/// A weight, where there is one, for one or more rows of x.
bool checkNormWidth(OpCheck& c, const Buffer& x, size_t weight) {
  return c.is(x, real) &&
         (!c.hasIn(weight) ||
          (c.is(c.in(weight), {x.dtype}) && coversRows(c, c.in(weight), x)));
}

/// What is known of each row of x.
bool checkRows(OpCheck& c, const Buffer& rows, const Buffer& x) {
  return c.isMath(rows, x) && c.counts(rows, rowsOf(x));
}

bool checkNorm(OpCheck& c) {
  return c.arity(2, 2, 0, {1}) && checkNormWidth(c, c.in(0), 1) &&
         c.same(c.in(0), c.out(0)) && checkRows(c, c.out(1), c.in(0));
}

bool checkLayerNorm(OpCheck& c) {
  return c.arity(2, 3) && checkNormWidth(c, c.in(0), 1) &&
         c.same(c.in(0), c.out(0)) && checkRows(c, c.out(1), c.in(0)) &&
         checkRows(c, c.out(2), c.in(0));
}

/// dy, x, w and `rows` operands that tell of each row.
bool checkNormBackward(OpCheck& c, size_t rows) {
  const Buffer& dy = c.in(0);
  if (!checkNormWidth(c, dy, 2) || !c.same(dy, c.in(1)) ||
      !c.same(dy, c.out(0)))
    return false;
  for (size_t i = 0; i < rows; ++i)
    if (!checkRows(c, c.in(3 + i), dy))
      return false;
  return !c.hasOut(1) || (c.hasIn(2) && c.isGradient(c.out(1), dy) &&
                          c.counts(c.out(1), elementCount(c.in(2).shape)));
}

bool checkRope(OpCheck& c) {
  if (!c.arity(2, 1) || !c.rank(c.in(0), 4))
    return false;
  const Buffer& x = c.in(0);
  int64_t rotated = c.op.integer("rotated");
  if (rotated < 0 || rotated > x.shape[3])
    return c.fail("rotates " + std::to_string(rotated) + " of " +
                  std::to_string(x.shape[3]) + " elements");
  return c.is(x, real) && c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), x.shape[0] * x.shape[1]) && c.same(x, c.out(0)) &&
         c.divides(2, rotated ? rotated : x.shape[3],
                   "rotation pairs the head's dimensions") &&
         c.isWord("scaling", {"none", "linear", "llama3", "yarn"});
}

bool checkPositionScale(OpCheck& c) {
  if (!c.arity(2, 1))
    return false;
  const Buffer& x = c.in(0);
  return c.is(x, real) && c.same(x, c.out(0)) && x.shape.size() >= 2 &&
         c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), x.shape[0] * x.shape[1]);
}

/// All operands of one type and size.
bool checkElementwise(OpCheck& c, size_t inputs, size_t outputs) {
  if (!c.arity(inputs, outputs) || !c.is(c.in(0), real))
    return false;
  for (size_t i = 1; i < inputs; ++i)
    if (!c.same(c.in(0), c.in(i)))
      return false;
  for (size_t i = 0; i < outputs; ++i)
    if (!c.same(c.in(0), c.out(i)))
      return false;
  return true;
}

/// `part` are the elements from `begin` on of each row of `wide`.
bool checkPartOfRows(OpCheck& c, const Buffer& wide, const Buffer& part) {
  const int64_t whole = widthOf(wide), width = widthOf(part);
  const int64_t begin = c.op.integer("begin");
  if (begin < 0 || width > whole || begin > whole - width)
    return c.fail("takes " + std::to_string(width) + " elements from " +
                  std::to_string(begin) + " on in rows of " +
                  std::to_string(whole));
  return c.is(wide, real) && c.is(part, {wide.dtype}) &&
         c.divides(whole, elementCount(wide.shape), "the width of a row") &&
         c.counts(part, elementCount(wide.shape) / whole, width);
}

bool checkConcat(OpCheck& c) {
  if (!c.arity(2, 1) || !c.is(c.out(0), real))
    return false;
  const int64_t width = widthOf(c.out(0));
  if (width - widthOf(c.in(0)) != widthOf(c.in(1)))
    return c.fail("makes rows of " + std::to_string(width) + " of " +
                  std::to_string(widthOf(c.in(0))) + " and " +
                  std::to_string(widthOf(c.in(1))));
  if (!c.divides(width, elementCount(c.out(0).shape), "the width of a row"))
    return false;
  const int64_t rows = elementCount(c.out(0).shape) / width;
  for (size_t i = 0; i < 2; ++i)
    if (!c.is(c.in(i), {c.out(0).dtype}) ||
        !c.counts(c.in(i), rows, widthOf(c.in(i))))
      return false;
  return true;
}

/// `many` is `once` with a dimension more before the last.
bool checkBroadcast(OpCheck& c, const Buffer& once, const Buffer& many) {
  std::vector<int64_t> shape = many.shape;
  if (shape.size() < 2)
    return c.fail("wants copies of rows in `" + many.name + "`, which is " +
                  shapeText(many));
  shape.erase(shape.end() - 2);
  return c.is(once, real) && c.is(many, {once.dtype}) && c.shaped(once, shape);
}

bool checkDropout(OpCheck& c) {
  if (!c.arity(3, 1) || !c.same(c.in(0), c.out(0)))
    return false;
  const Buffer& x = c.in(0);
  if (x.shape.size() < 2)
    return c.fail("wants samples and tokens in `" + x.name + "`, which is " +
                  shapeText(x));
  const std::vector<std::string>& axes = c.op.strings("axes");
  if (!axes.empty() && axes.size() != x.shape.size())
    return c.fail("has " + std::to_string(axes.size()) + " `axes` for " +
                  std::to_string(x.shape.size()) + " dimensions");
  for (const std::string& axis : axes)
    if (!c.axis(axis))
      return false;
  double p = c.op.real("p");
  return c.is(x, real) && c.is(c.in(1), {DType::i64}) &&
         c.counts(c.in(1), x.shape[0]) && c.is(c.in(2), {DType::i32}) &&
         c.counts(c.in(2), x.shape[0] * x.shape[1]) &&
         ((p >= 0 && p < 1) || c.fail("has `p` outside [0, 1)"));
}

/// A master as wide as the step computes, or in the bf16 parameter: with the
/// remainder in `master`, or alone.
bool checkMaster(OpCheck& c, const Buffer& param, const Buffer& master) {
  if (param.dtype != DType::bf16)
    return c.is(master, {param.dtype});
  return c.is(master, {DType::f32, DType::u16, DType::bf16}) &&
         (master.dtype != DType::bf16 || master.offset == param.offset ||
          c.fail("has a master in bf16 that is not its parameter"));
}

bool checkAdamW(OpCheck& c) {
  if (!c.arity(4, 4))
    return false;
  const Buffer& param = c.out(0);
  int64_t elements = elementCount(param.shape);
  const Types stored = param.dtype == DType::f64
                           ? Types{DType::f64}
                           : Types{DType::f32, DType::bf16};
  for (const Buffer* each : {&c.in(0), &c.out(2), &c.out(3)})
    if (!c.is(*each, stored) || !c.counts(*each, elements))
      return false;
  return c.is(c.in(1), {DType::f64}) && c.counts(c.in(1), 1) &&
         c.is(c.in(2), {DType::f32}) && c.counts(c.in(2), 1) &&
         c.is(c.in(3), {DType::i32}) && c.counts(c.in(3), 1) &&
         c.is(param, real) && c.is(c.out(3), {c.out(2).dtype}) &&
         checkMaster(c, param, c.out(1)) && c.counts(c.out(1), elements);
}

/// All ops but copies are the device's.
bool checkPlaces(OpCheck& c) {
  if (c.op.kind == OpKind::CopyBegin || c.op.kind == OpKind::CopyEnd)
    return true;
  for (const std::vector<int>* list : {&c.op.inputs, &c.op.outputs})
    for (int number : *list)
      if (number >= 0 && c.stage.buffers[size_t(number)].host)
        return c.fail("names `" + c.stage.buffers[size_t(number)].name +
                      "`, which waits on the host");
  return c.op.workspace < 0 || !c.stage.buffers[size_t(c.op.workspace)].host ||
         c.fail("has a workspace on the host");
}

bool checkRuns(OpCheck& c) {
  const std::string& when = c.op.string("when");
  return when.empty() || when == "first" || when == "later" || when == "last" ||
         c.fail("has a part in no run of its function: `" + when + "`");
}

/// An op without a case here does not compile (-Wswitch).
bool checkKind(OpCheck& c) {
  switch (c.op.kind) {
  case OpKind::Embedding:
    return checkEmbedding(c, false);
  case OpKind::EmbeddingBackward:
    return checkEmbedding(c, true);
  case OpKind::Linear:
  case OpKind::LinearDgrad:
  case OpKind::LinearWgrad:
  case OpKind::LinearAdd:
  case OpKind::LinearJoint:
  case OpKind::LinearJointDgrad:
  case OpKind::LinearJointWgrad:
    return checkLinearOp(c);
  case OpKind::Quantize:
  case OpKind::ScaledProduct:
  case OpKind::ScaledProductAdd:
  case OpKind::SwigluQuantize:
  case OpKind::SwigluBackwardQuantize:
  case OpKind::Transpose:
  case OpKind::PartMaximum:
  case OpKind::QuantizePart:
    return checkQuantizedOp(c);
  case OpKind::AddBias:
    return c.arity(2, 1) && checkBias(c, c.in(0), c.in(1)) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.same(c.in(0), c.out(0));
  case OpKind::BiasBackward:
    return c.arity(1, 1) && checkBias(c, c.in(0), c.out(0)) &&
           c.isGradient(c.out(0), c.in(0));
  case OpKind::RmsNorm:
    return checkNorm(c);
  case OpKind::RmsNormBackward:
    return c.arity(4, 2, 1, {2}) && checkNormBackward(c, 1);
  case OpKind::LayerNorm:
    return checkLayerNorm(c);
  case OpKind::LayerNormBackward:
    return c.arity(5, 2, 1) && checkNormBackward(c, 2);
  case OpKind::Rope:
    return checkRope(c);
  case OpKind::PositionScale:
    return checkPositionScale(c);
  case OpKind::Attention:
  case OpKind::AttentionBackward:
  case OpKind::RingAttention:
  case OpKind::RingAttentionBackward:
  case OpKind::AttentionBlock:
  case OpKind::AttentionBlocksEnd:
  case OpKind::AttentionBlockBackward:
  case OpKind::AttentionCached:
    return checkAttentionOp(c);
  case OpKind::Silu:
  case OpKind::Gelu:
  case OpKind::Relu2:
  case OpKind::Softcap:
  case OpKind::Scale:
    return checkElementwise(c, 1, 1);
  case OpKind::SiluBackward:
  case OpKind::GeluBackward:
  case OpKind::Relu2Backward:
  case OpKind::SoftcapBackward:
  case OpKind::Swiglu:
  case OpKind::Mul:
  case OpKind::Add:
    return checkElementwise(c, 2, 1);
  case OpKind::SwigluBackward:
    return checkElementwise(c, 3, 2);
  case OpKind::Narrow:
    return c.arity(1, 1) && checkPartOfRows(c, c.in(0), c.out(0));
  case OpKind::Pad:
    return c.arity(1, 1) && checkPartOfRows(c, c.out(0), c.in(0));
  case OpKind::Concat:
    return checkConcat(c);
  case OpKind::Broadcast:
    return c.arity(1, 1) && checkBroadcast(c, c.in(0), c.out(0));
  case OpKind::BroadcastBackward:
    return c.arity(1, 1) && checkBroadcast(c, c.out(0), c.in(0));
  case OpKind::Dropout:
    return checkDropout(c);
  case OpKind::Zero:
    return c.arity(0, 1);
  case OpKind::Cast:
    return c.arity(1, 1) && c.is(c.in(0), real) && c.is(c.out(0), real) &&
           c.counts(c.out(0), elementCount(c.in(0).shape));
  case OpKind::CausalConv:
  case OpKind::CausalConvBackward:
  case OpKind::StateScan:
  case OpKind::StateScanBackward:
    return checkStateSpaceOp(c);
  case OpKind::Route:
  case OpKind::BalanceExperts:
  case OpKind::PackRows:
  case OpKind::UnpackRows:
  case OpKind::RouteBackward:
  case OpKind::Dispatch:
  case OpKind::DispatchBackward:
  case OpKind::Combine:
  case OpKind::CombineBackward:
  case OpKind::ExpertLinear:
  case OpKind::ExpertLinearDgrad:
  case OpKind::ExpertLinearWgrad:
    return checkExpertsOp(c);
  case OpKind::SoftmaxMax:
  case OpKind::SoftmaxSum:
  case OpKind::SoftmaxStats:
  case OpKind::Nll:
  case OpKind::CrossEntropyBackward:
    return checkLossOp(c);
  case OpKind::CopyBegin:
  case OpKind::CopyEnd:
  case OpKind::AllReduce:
  case OpKind::AllGather:
  case OpKind::AllGatherStart:
  case OpKind::AllGatherDone:
  case OpKind::ReduceScatterStart:
  case OpKind::ReduceScatterDone:
  case OpKind::ReduceScatter:
  case OpKind::Slice:
  case OpKind::AllToAll:
    return checkMoveOp(c);
  case OpKind::SumSquares:
    return c.arity(1, 1) && c.is(c.in(0), real) &&
           c.is(c.out(0), {DType::f64}) && c.counts(c.out(0), 1);
  case OpKind::AdamW:
    return checkAdamW(c);
  }
  return c.fail("is of no known kind");
}

bool holds(const AttributeValue& value, std::string_view type) {
  if (type == "flag")
    return std::holds_alternative<bool>(value);
  if (type == "integer")
    return std::holds_alternative<int64_t>(value);
  if (type == "real")
    return std::holds_alternative<double>(value) ||
           std::holds_alternative<int64_t>(value);
  if (type == "string")
    return std::holds_alternative<std::string>(value);
  return std::holds_alternative<std::vector<std::string>>(value);
}

bool checkAttributes(OpCheck& c) {
  static const std::map<std::string_view, std::string_view> types = {
#define ATTRIBUTE(name, type) {#name, #type},
#include "runtime/plan/Attributes.def"
  };
  std::set<std::string_view> seen;
  for (const auto& [name, value] : c.op.attributes) {
    const auto known = types.find(name);
    if (known == types.end())
      return c.fail("has the unknown attribute `" + name + "`");
    if (!holds(value, known->second))
      return c.fail("has an attribute `" + name + "` that is no " +
                    std::string(known->second));
    if (!seen.insert(name).second)
      return c.fail("has the attribute `" + name + "` twice");
  }
  return true;
}

} // namespace

Status validateOp(const Plan& plan, const Stage& stage, const Op& op) {
  OpCheck check(plan, stage, op);
  checkAttributes(check) && checkKind(check) && checkPlaces(check) &&
      checkRuns(check);
  return check.failure;
}

} // namespace reciperun::plan
