// One op: its operands exist, have the right types, and sizes that agree.
//
// Kernels treat leading dimensions as one and never look at a shape twice, so
// the checks count elements the way the kernels do: a linear's x has m*k
// elements, y has m*n. What passes here cannot reach beyond its buffers.
// Comments of Ops.def are the specification.

#include "runtime/plan/AttentionWorkspace.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/OpCheck.h"
#include "runtime/plan/RingWorkspace.h"
#include "runtime/plan/Validate.h"

#include <algorithm>

namespace reciperun::plan {
namespace {

int64_t last(const Buffer& buffer) {
  return buffer.shape.empty() ? 1 : buffer.shape.back();
}

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

/// `narrow` has k elements a row, `across` n, `matrix` is [n,k].
bool checkLinear(OpCheck& c, const Buffer& narrow, const Buffer& across,
                 const Buffer& matrix) {
  if (!c.rank(matrix, 2))
    return false;
  int64_t n = matrix.shape[0], k = matrix.shape[1];
  return c.divides(k, elementCount(narrow.shape), "the width of the input") &&
         c.counts(across, elementCount(narrow.shape) / k, n);
}

/// The second and, where it is there, the third product of one x, or of one
/// gradient dx, like the first: input or output `dy` + i, and `w` + i.
bool checkJoint(OpCheck& c, const Buffer& x, bool isBackward) {
  auto isNarrow = [&](const Buffer& y, const Buffer& w) {
    return c.is(y, {x.dtype}) && c.is(w, {x.dtype}) && checkLinear(c, x, y, w);
  };
  if (!c.is(x, real))
    return false;
  for (size_t i = 0; i < 3; ++i) {
    const size_t w = isBackward ? 3 + i : 1 + i;
    const bool isThere = isBackward ? c.hasIn(i) : c.hasOut(i);
    if (isThere != c.hasIn(w))
      return c.fail("has a product without a weight or a weight without one");
    if (isThere && !isNarrow(isBackward ? c.in(i) : c.out(i), c.in(w)))
      return false;
  }
  return true;
}

/// x, then two or three gradients of products of it; their weights' gradients.
bool checkJointWgrad(OpCheck& c) {
  if (!c.arity(4, 3, 1, {3}) || !c.is(c.in(0), real))
    return false;
  for (size_t i = 0; i < 3; ++i) {
    if (c.hasIn(1 + i) != c.hasOut(i))
      return c.fail("has a product without a gradient or a gradient without "
                    "one");
    if (c.hasOut(i) && !(c.is(c.in(1 + i), {c.in(0).dtype}) &&
                         c.isGradient(c.out(i), c.in(0)) &&
                         checkLinear(c, c.in(0), c.in(1 + i), c.out(i))))
      return false;
  }
  return true;
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
  return c.isMath(rows, x) &&
         c.counts(rows, elementCount(x.shape) / std::max<int64_t>(1, last(x)));
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

/// q [b,s,hq,d], k and v [b,t,hk,d].
bool checkHeads(OpCheck& c, const Buffer& q, const Buffer& k, const Buffer& v) {
  for (const char* bound : {"window", "chunk"})
    if (c.op.integer(bound) < 0)
      return c.fail("has `" + std::string(bound) + "` below 0");
  if (!(c.op.real("softcap") >= 0))
    return c.fail("has `softcap` below 0");
  return c.rank(q, 4) && c.rank(k, 4) && c.is(q, real) && c.same(k, v) &&
         c.is(k, {q.dtype}) &&
         c.shaped(k, {q.shape[0], k.shape[1], k.shape[2], q.shape[3]}) &&
         c.divides(k.shape[2], q.shape[2], "heads of keys and of queries");
}

/// From input `first` on: segments and places of the queries, of the keys.
bool checkTokens(OpCheck& c, const Buffer& q, const Buffer& k, size_t first) {
  int64_t queries = q.shape[0] * q.shape[1], keys = k.shape[0] * k.shape[1];
  for (size_t i = 0; i < 4; ++i) {
    const Buffer& tokens = c.in(first + i);
    if (!c.is(tokens, {DType::i32}) ||
        !c.counts(tokens, i < 2 ? queries : keys))
      return false;
  }
  return true;
}

bool checkLse(OpCheck& c, const Buffer& lse, const Buffer& q) {
  return c.isMath(lse, q) &&
         c.counts(lse, q.shape[0] * q.shape[1] * q.shape[2]);
}

bool checkAttention(OpCheck& c) {
  if (!c.arity(7, 2) || !checkHeads(c, c.in(0), c.in(1), c.in(2)))
    return false;
  const Buffer& q = c.in(0);
  return checkTokens(c, q, c.in(1), 3) && c.same(q, c.out(0)) &&
         checkLse(c, c.out(1), q);
}

AttentionSizes sizesOf(const OpCheck& c, const Buffer& q, const Buffer& k) {
  return attentionSizes(c.op, q.dtype, q.shape, k.shape);
}

/// Above it sizes of workspaces might pass 2^63.
bool isMeasurable(OpCheck& c, const Buffer& q) {
  return double(q.shape[0]) * double(q.shape[2]) *
                 std::max(double(q.shape[1]), 128.0) *
                 std::max({double(q.shape[1]), double(q.shape[3]), 128.0}) <
             0x1p56 ||
         c.fail("attends with more than 2^56 scores");
}

bool checkAttentionBackward(OpCheck& c) {
  if (!c.arity(10, 3) || !checkHeads(c, c.in(2), c.in(3), c.in(4)))
    return false;
  const Buffer &q = c.in(2), &k = c.in(3);
  return c.same(q, c.in(0)) && c.same(q, c.in(1)) && checkLse(c, c.in(5), q) &&
         checkTokens(c, q, k, 6) && c.same(q, c.out(0)) &&
         c.same(k, c.out(1)) && c.same(k, c.out(2)) &&
         (q.dtype != DType::bf16 ||
          (isMeasurable(c, q) &&
           c.workspace(attentionWorkspace(sizesOf(c, q, k)))));
}

/// The rank's own queries and keys, and room for the keys of others.
bool checkRing(OpCheck& c, size_t first, size_t tokens, bool isBackward) {
  const Buffer &q = c.in(first), &k = c.in(first + 1);
  if (!checkHeads(c, q, k, c.in(first + 2)) || !c.grouped() ||
      !c.shaped(k, {q.shape[0], q.shape[1], k.shape[2], q.shape[3]}))
    return false;
  // So that sizes of workspaces stay far below 2^63.
  if (elementCount(q.shape) + elementCount(k.shape) > int64_t(1) << 56)
    return c.fail("wants more than 2^56 elements to go round");
  int64_t count = q.shape[0] * q.shape[1];
  for (size_t i : {tokens, tokens + 1})
    if (!c.is(c.in(i), {DType::i32}) || !c.counts(c.in(i), count))
      return false;
  if (!isMeasurable(c, q))
    return false;
  const RingSizes sizes{sizesOf(c, q, k), c.ranksOfGroup()};
  return c.workspace(ringWorkspace(sizes, isBackward).elements());
}

bool checkRingAttention(OpCheck& c) {
  return c.arity(5, 2) && checkRing(c, 0, 3, false) &&
         c.same(c.in(0), c.out(0)) && checkLse(c, c.out(1), c.in(0));
}

bool checkRingAttentionBackward(OpCheck& c) {
  return c.arity(8, 3) && checkRing(c, 2, 6, true) &&
         c.same(c.in(2), c.in(0)) && c.same(c.in(2), c.in(1)) &&
         checkLse(c, c.in(5), c.in(2)) && c.same(c.in(2), c.out(0)) &&
         c.same(c.in(3), c.out(1)) && c.same(c.in(3), c.out(2));
}

bool checkAttentionCached(OpCheck& c) {
  if (!c.arity(4, 3) || !checkHeads(c, c.in(0), c.in(1), c.in(2)))
    return false;
  const Buffer &q = c.in(0), &k = c.in(1);
  return c.shaped(k, {q.shape[0], q.shape[1], k.shape[2], q.shape[3]}) &&
         c.is(c.in(3), {DType::i32}) &&
         c.counts(c.in(3), q.shape[0] * q.shape[1]) && c.same(q, c.out(0)) &&
         c.rank(c.out(1), 3) &&
         c.shaped(c.out(1), {c.out(1).shape[0], k.shape[2], k.shape[3]}) &&
         c.is(c.out(1), {q.dtype}) && c.same(c.out(1), c.out(2)) &&
         (c.out(1).shape[0] >= c.plan.cacheTokens ||
          c.fail("has a cache of " + std::to_string(c.out(1).shape[0]) +
                 " tokens, and the plan's is of " +
                 std::to_string(c.plan.cacheTokens)));
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
  const int64_t whole = last(wide), width = last(part);
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
  const int64_t width = last(c.out(0));
  if (width - last(c.in(0)) != last(c.in(1)))
    return c.fail("makes rows of " + std::to_string(width) + " of " +
                  std::to_string(last(c.in(0))) + " and " +
                  std::to_string(last(c.in(1))));
  if (!c.divides(width, elementCount(c.out(0).shape), "the width of a row"))
    return false;
  const int64_t rows = elementCount(c.out(0).shape) / width;
  for (size_t i = 0; i < 2; ++i)
    if (!c.is(c.in(i), {c.out(0).dtype}) ||
        !c.counts(c.in(i), rows, last(c.in(i))))
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

bool checkSoftmaxMax(OpCheck& c) {
  return c.arity(1, 1) && c.is(c.in(0), real) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), elementCount(c.in(0).shape) /
                                std::max<int64_t>(1, last(c.in(0))));
}

bool checkSoftmaxSum(OpCheck& c) {
  if (!c.arity(3, 1))
    return false;
  int64_t places =
      elementCount(c.in(0).shape) / std::max<int64_t>(1, last(c.in(0)));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {DType::i32}) &&
         c.counts(c.in(2), places) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), 2 * places) && c.axis(c.op.string("axis"));
}

bool checkSoftmaxStats(OpCheck& c) {
  if (!c.arity(2, 2))
    return false;
  int64_t places =
      elementCount(c.in(0).shape) / std::max<int64_t>(1, last(c.in(0)));
  return c.is(c.in(0), real) && c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), places) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), places) && c.isMath(c.out(1), c.in(0)) &&
         c.counts(c.out(1), 2 * places);
}

bool checkNll(OpCheck& c) {
  if (!c.arity(4, 1))
    return false;
  int64_t places = elementCount(c.in(0).shape);
  return c.is(c.in(0), wide) && c.is(c.in(1), {c.in(0).dtype}) &&
         c.counts(c.in(1), 2 * places) && c.is(c.in(2), {DType::f32}) &&
         c.counts(c.in(2), places) && c.is(c.in(3), {DType::f32}) &&
         c.counts(c.in(3), 1) && c.is(c.out(0), {DType::f64}) &&
         c.counts(c.out(0), 1);
}

bool checkCrossEntropyBackward(OpCheck& c) {
  if (!c.arity(6, 1))
    return false;
  int64_t places =
      elementCount(c.in(0).shape) / std::max<int64_t>(1, last(c.in(0)));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {c.in(1).dtype}) &&
         c.counts(c.in(2), 2 * places) && c.is(c.in(3), {DType::i32}) &&
         c.counts(c.in(3), places) && c.is(c.in(4), {DType::f32}) &&
         c.counts(c.in(4), places) && c.is(c.in(5), {DType::f32}) &&
         c.counts(c.in(5), 1) && c.same(c.in(0), c.out(0)) &&
         c.axis(c.op.string("axis"));
}

bool checkAllReduce(OpCheck& c) {
  const std::string& reduce = c.op.string("reduce");
  return c.arity(1, 1) && c.grouped() && c.same(c.in(0), c.out(0)) &&
         (reduce == "sum" || reduce == "max" ||
          c.fail("has `reduce` = `" + reduce + "`, neither `sum` nor `max`"));
}

/// `whole` is `part` with dimension `dim` taken `shards` times.
bool checkSplit(OpCheck& c, const Buffer& part, const Buffer& whole,
                int64_t shards) {
  int64_t dim = c.op.integer("dim");
  if (dim < 0 || dim >= int64_t(part.shape.size()))
    return c.fail("has `dim` = " + std::to_string(dim) + ", and `" + part.name +
                  "` is " + shapeText(part));
  std::vector<int64_t> shape = part.shape;
  if (__builtin_mul_overflow(shape[dim], shards, &shape[dim]))
    return c.fail("wants more than 2^63 elements in `" + whole.name + "`");
  return c.is(whole, {part.dtype}) && c.shaped(whole, shape);
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

/// From one memory to the other.
bool checkCopy(OpCheck& c) {
  if (!c.arity(1, 1))
    return false;
  const Buffer &from = c.in(0), &to = c.out(0);
  return c.same(from, to) && (from.host != to.host ||
                              c.fail("copies from `" + from.name + "` to `" +
                                     to.name + "`, which lie in one memory"));
}

bool checkAllToAll(OpCheck& c) {
  if (!c.arity(2, 1, 0, {1}) || !c.grouped() ||
      (c.hasIn(1) && !checkCounts(c, c.in(1), c.in(0))))
    return false;
  const std::vector<int64_t>& in = c.in(0).shape;
  int64_t split = c.op.integer("split", -1);
  int64_t concat = c.op.integer("concat", -1);
  int64_t rank = int64_t(in.size());
  if (split < 0 || split >= rank || concat < 0 || concat >= rank ||
      split == concat)
    return c.fail("moves a split between dimensions " + std::to_string(split) +
                  " and " + std::to_string(concat) + " of " +
                  std::to_string(rank));
  int64_t ranks = c.ranksOfGroup();
  if (!c.divides(ranks, in[size_t(split)], "the dimension that it cuts"))
    return false;
  std::vector<int64_t> out = in;
  out[size_t(split)] /= ranks;
  out[size_t(concat)] *= ranks;
  return c.is(c.out(0), {c.in(0).dtype}) && c.shaped(c.out(0), out);
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
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.in(0), c.out(0), c.in(1));
  case OpKind::LinearDgrad:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.out(0), c.in(0), c.in(1));
  case OpKind::LinearWgrad:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.isGradient(c.out(0), c.in(0)) &&
           checkLinear(c, c.in(0), c.in(1), c.out(0));
  case OpKind::LinearAdd:
    return c.arity(3, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           c.same(c.out(0), c.in(2)) &&
           checkLinear(c, c.in(0), c.out(0), c.in(1));
  case OpKind::LinearJoint:
    return c.arity(4, 3, 1, {3}) && checkJoint(c, c.in(0), false);
  case OpKind::LinearJointDgrad:
    return c.arity(6, 1, 0, {2, 5}) && checkJoint(c, c.out(0), true);
  case OpKind::LinearJointWgrad:
    return checkJointWgrad(c);
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
    return checkAttention(c);
  case OpKind::AttentionBackward:
    return checkAttentionBackward(c);
  case OpKind::RingAttention:
    return checkRingAttention(c);
  case OpKind::RingAttentionBackward:
    return checkRingAttentionBackward(c);
  case OpKind::AttentionBlock:
  case OpKind::AttentionBlocksEnd:
  case OpKind::AttentionBlockBackward:
    return c.fail("is a part of ring attention, which no plan holds by itself");
  case OpKind::AttentionCached:
    return checkAttentionCached(c);
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
  case OpKind::CopyBegin:
  case OpKind::CopyEnd:
    return checkCopy(c);
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
    return checkSoftmaxMax(c);
  case OpKind::SoftmaxSum:
    return checkSoftmaxSum(c);
  case OpKind::SoftmaxStats:
    return checkSoftmaxStats(c);
  case OpKind::Nll:
    return checkNll(c);
  case OpKind::CrossEntropyBackward:
    return checkCrossEntropyBackward(c);
  case OpKind::AllReduce:
    return checkAllReduce(c);
  case OpKind::AllGather:
  case OpKind::AllGatherStart:
    return c.arity(1, 1) && c.grouped() &&
           checkSplit(c, c.in(0), c.out(0), c.ranksOfGroup());
  case OpKind::AllGatherDone:
    return c.arity(2, 1) && c.grouped() && c.same(c.in(0), c.out(0));
  case OpKind::ReduceScatterStart:
    return c.arity(1, 1) && c.grouped() && c.same(c.in(0), c.out(0)) &&
           c.divides(c.ranksOfGroup(), elementCount(c.in(0).shape),
                     "what it scatters");
  case OpKind::ReduceScatterDone:
    return c.arity(2, 1) && c.grouped() && c.same(c.in(0), c.in(1)) &&
           checkSplit(c, c.out(0), c.in(0), c.ranksOfGroup());
  case OpKind::ReduceScatter:
    return c.arity(1, 1) && c.grouped() &&
           checkSplit(c, c.out(0), c.in(0), c.ranksOfGroup());
  case OpKind::Slice:
    return c.arity(1, 1) && c.axis(c.op.string("axis")) &&
           checkSplit(c, c.out(0), c.in(0),
                      axisSize(c.plan.mesh, c.op.string("axis")));
  case OpKind::AllToAll:
    return checkAllToAll(c);
  case OpKind::SumSquares:
    return c.arity(1, 1) && c.is(c.in(0), real) &&
           c.is(c.out(0), {DType::f64}) && c.counts(c.out(0), 1);
  case OpKind::AdamW:
    return checkAdamW(c);
  }
  return c.fail("is of no known kind");
}

} // namespace

Status validateOp(const Plan& plan, const Stage& stage, const Op& op) {
  OpCheck check(plan, stage, op);
  checkKind(check) && checkPlaces(check) && checkRuns(check);
  return check.failure;
}

} // namespace reciperun::plan
