// Ops that bring elements elsewhere: collectives, a rank's slice, and copies
// between the device and the host. See ValidateOps.cpp.

#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// What ranks add up: other types are moved, and never added.
bool isSummed(OpCheck& c, const Buffer& buffer) {
  return c.is(buffer,
              {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i64});
}

bool checkAllReduce(OpCheck& c) {
  const std::string& reduce = c.op.string("reduce");
  return c.arity(1, 1) && c.grouped() && isSummed(c, c.in(0)) &&
         c.same(c.in(0), c.out(0)) &&
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

} // namespace

bool checkMoveOp(OpCheck& c) {
  switch (c.op.kind) {
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
    return c.arity(2, 1) && c.grouped() && isSummed(c, c.in(0)) &&
           c.same(c.in(0), c.in(1)) &&
           checkSplit(c, c.out(0), c.in(0), c.ranksOfGroup());
  case OpKind::ReduceScatter:
    return c.arity(1, 1) && c.grouped() && isSummed(c, c.in(0)) &&
           checkSplit(c, c.out(0), c.in(0), c.ranksOfGroup());
  case OpKind::Slice:
    return c.arity(1, 1) && c.axis(c.op.string("axis")) &&
           checkSplit(c, c.out(0), c.in(0),
                      axisSize(c.plan.mesh, c.op.string("axis")));
  case OpKind::AllToAll:
    return checkAllToAll(c);
  case OpKind::CopyBegin:
  case OpKind::CopyEnd:
    return checkCopy(c);
  default:
    return c.fail("is no collective and no copy");
  }
}

} // namespace reciperun::plan
