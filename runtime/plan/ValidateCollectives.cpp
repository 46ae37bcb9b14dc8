// Collectives, and `slice`, which takes a rank's part: the group exists, and
// the shapes match its size.

#include "runtime/ops/CollectiveOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// Whether a collective can sum the type. Other types are only moved.
bool isSummed(OpCheck& c, const Buffer& buffer) {
  return c.is(buffer,
              {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i64});
}

bool checkAllReduce(OpCheck& c) {
  const std::string reduce = ops::AllReduceAttributes(c.op.attributes).reduce;
  return c.grouped() && isSummed(c, c.in(0)) && c.same(c.in(0), c.out(0)) &&
         (reduce == "sum" || reduce == "max" ||
          c.fail("has `reduce` = `" + reduce + "`, neither `sum` nor `max`"));
}

/// Checks that `whole` has the shape of `part` with dimension `dim` multiplied
/// by `shards`.
bool checkSplit(OpCheck& c, const Buffer& part, const Buffer& whole,
                int64_t shards) {
  const int64_t dim = ops::AllGatherAttributes(c.op.attributes).dim;
  if (dim < 0 || dim >= int64_t(part.shape.size()))
    return c.fail("has `dim` = " + std::to_string(dim) + ", and `" + part.name +
                  "` is " + shapeText(part));
  std::vector<int64_t> shape = part.shape;
  if (__builtin_mul_overflow(shape[dim], shards, &shape[dim]))
    return c.fail("wants more than 2^63 elements in `" + whole.name + "`");
  return c.is(whole, {part.dtype}) && c.shaped(whole, shape);
}

bool checkSlice(OpCheck& c, const std::string& axis) {
  return c.axis(axis) &&
         checkSplit(c, c.out(0), c.in(0), axisSize(c.plan.mesh, axis));
}

bool checkExchange(OpCheck& c) {
  if (!c.grouped())
    return false;
  const std::vector<int64_t>& in = c.in(0).shape;
  const ops::AllToAllAttributes attributes(c.op.attributes);
  const int64_t split = attributes.split, concat = attributes.concat;
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

bool checkAllToAll(OpCheck& c) {
  return checkExchange(c) && (!c.hasIn(1) || checkCounts(c, c.in(1), c.in(0)));
}

/// The parts of an exchange are contiguous: the dimensions before those that it
/// splits and concatenates are 1.
bool movesRuns(OpCheck& c) {
  const ops::AllToAllAttributes attributes(c.op.attributes);
  const auto areOnes = [](const std::vector<int64_t>& shape, int64_t count) {
    return std::all_of(shape.begin(), shape.begin() + count,
                       [](int64_t size) { return size == 1; });
  };
  return (areOnes(c.in(0).shape, attributes.split) &&
          areOnes(c.out(0).shape, attributes.concat)) ||
         c.fail("exchanges parts that are not contiguous");
}

/// Checks the tensors of a ring shift. The sent tensors are the inputs from
/// index `sent` on; the received ones are the results.
bool checkShift(OpCheck& c, size_t sent) {
  if (!c.grouped())
    return false;
  for (size_t i = 0; i < c.op.outputs.size(); ++i) {
    if (c.hasIn(sent + i) != c.hasOut(i))
      return c.fail("sends and receives other numbers of tensors");
    if (c.hasOut(i) && !c.same(c.in(sent + i), c.out(i)))
      return false;
  }
  return true;
}

/// Checks the op that completes a ring shift. The received tensors are its
/// first inputs and also its results.
bool checkShiftDone(OpCheck& c) {
  const std::vector<int>&in = c.op.inputs, &out = c.op.outputs;
  return checkShift(c, out.size()) &&
         (std::equal(out.begin(), out.end(), in.begin()) ||
          c.fail("completes into other buffers than it received"));
}

} // namespace

bool checkCollectiveOp(OpCheck& c) {
  switch (ops::CollectiveOp(c.op.kind)) {
  case ops::CollectiveOp::AllReduce:
    return checkAllReduce(c);
  case ops::CollectiveOp::AllGather:
  case ops::CollectiveOp::AllGatherStart:
    return c.grouped() && checkSplit(c, c.in(0), c.out(0), c.ranksOfGroup());
  case ops::CollectiveOp::AllToAllStart:
    return checkExchange(c) && movesRuns(c);
  case ops::CollectiveOp::AllToAllDone:
  case ops::CollectiveOp::AllGatherDone:
    return c.grouped() && c.same(c.in(0), c.out(0));
  case ops::CollectiveOp::ReduceScatterStart:
    return c.grouped() && c.same(c.in(0), c.out(0)) &&
           c.divides(c.ranksOfGroup(), elementCount(c.in(0).shape),
                     "what it scatters");
  case ops::CollectiveOp::ReduceScatterDone:
    return c.grouped() && isSummed(c, c.in(0)) && c.same(c.in(0), c.in(1)) &&
           checkSplit(c, c.out(0), c.in(0), c.ranksOfGroup());
  case ops::CollectiveOp::ReduceScatter:
    return c.grouped() && isSummed(c, c.in(0)) &&
           checkSplit(c, c.out(0), c.in(0), c.ranksOfGroup());
  case ops::CollectiveOp::RingShiftStart:
    return checkShift(c, 0);
  case ops::CollectiveOp::RingShiftDone:
    return checkShiftDone(c);
  case ops::CollectiveOp::Slice:
    return checkSlice(c, ops::SliceAttributes(c.op.attributes).axis);
  case ops::CollectiveOp::AllToAll:
    return checkAllToAll(c);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
