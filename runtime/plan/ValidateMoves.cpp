// Ops that move, slice and clear elements: row widths add up, and copies go
// from host to device memory or back.

#include "runtime/ops/MoveOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// Checks that `part` is a slice of `wide`, from element `begin` on, in the
/// dimension that `behind` others follow. A slice of one element may lack the
/// dimension.
bool checkSlice(OpCheck& c, const Buffer& wide, const Buffer& part) {
  const ops::NarrowAttributes attributes(c.op.attributes);
  const int64_t begin = attributes.begin, behind = attributes.behind;
  const int64_t at = int64_t(wide.shape.size()) - 1 - behind;
  if (behind < 0 || at < 0)
    return c.fail("has `behind` = " + std::to_string(behind) +
                  " in a slice of `" + wide.name + "`, which is " +
                  shapeText(wide));
  const int64_t whole = wide.shape[size_t(at)];
  const int64_t width =
      part.shape.size() == wide.shape.size() ? part.shape[size_t(at)] : 1;
  if (begin < 0 || width > whole || begin > whole - width)
    return c.fail("takes " + std::to_string(width) + " elements from " +
                  std::to_string(begin) + " on in rows of " +
                  std::to_string(whole));
  return c.is(wide, real) && c.is(part, {wide.dtype}) &&
         c.divides(whole, elementCount(wide.shape), "the width of a row") &&
         c.counts(part, elementCount(wide.shape) / whole, width);
}

bool checkConcat(OpCheck& c) {
  if (!c.is(c.out(0), real))
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

/// Checks that `many` is `once` with one more dimension before the last.
bool checkBroadcast(OpCheck& c, const Buffer& once, const Buffer& many) {
  std::vector<int64_t> shape = many.shape;
  if (shape.size() < 2)
    return c.fail("wants copies of rows in `" + many.name + "`, which is " +
                  shapeText(many));
  shape.erase(shape.end() - 2);
  return c.is(once, real) && c.is(many, {once.dtype}) && c.shaped(once, shape);
}

/// Checks a copy between host and device memory.
bool checkCopy(OpCheck& c) {
  const Buffer &from = c.in(0), &to = c.out(0);
  return c.same(from, to) && (from.host != to.host ||
                              c.fail("copies from `" + from.name + "` to `" +
                                     to.name + "`, which lie in one memory"));
}

/// Checks x [1,t,...], rows [1,m] and y [1,m,...].
bool checkTakeRows(OpCheck& c) {
  const Buffer &x = c.in(0), &rows = c.in(1);
  if (x.shape.size() < 2 || x.shape[0] != 1)
    return c.fail("takes rows of `" + x.name + "`, which is " + shapeText(x));
  if (!c.is(x, real) || !c.is(rows, {DType::i32}) || !c.rank(rows, 2) ||
      !c.shaped(rows, {1, rows.shape[1]}))
    return false;
  std::vector<int64_t> taken = x.shape;
  taken[1] = rows.shape[1];
  return c.is(c.out(0), {x.dtype}) && c.shaped(c.out(0), taken);
}

} // namespace

bool checkMoveOp(OpCheck& c) {
  switch (ops::MoveOp(c.op.kind)) {
  case ops::MoveOp::Narrow:
    return checkSlice(c, c.in(0), c.out(0));
  case ops::MoveOp::Pad:
    return checkSlice(c, c.out(0), c.in(0));
  case ops::MoveOp::Concat:
    return checkConcat(c);
  case ops::MoveOp::Broadcast:
    return checkBroadcast(c, c.in(0), c.out(0));
  case ops::MoveOp::BroadcastBackward:
    return checkBroadcast(c, c.out(0), c.in(0));
  case ops::MoveOp::Zero:
    return true;
  case ops::MoveOp::Cast:
    return c.is(c.in(0), real) && c.is(c.out(0), real) &&
           c.counts(c.out(0), elementCount(c.in(0).shape));
  case ops::MoveOp::CopyBegin:
  case ops::MoveOp::CopyEnd:
    return checkCopy(c);
  case ops::MoveOp::TakeRows:
    return checkTakeRows(c);
  case ops::MoveOp::View:
    return c.fail("is no op of a plan");
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
