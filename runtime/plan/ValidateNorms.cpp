// Norms: x, weights and row statistics match.

#include "runtime/ops/NormOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// Whether the weight covers one or more of the last dimensions of x.
bool coversRows(OpCheck& c, const Buffer& weight, const Buffer& x) {
  const int64_t elements = elementCount(weight.shape);
  int64_t covered = 1;
  for (size_t i = x.shape.size(); i > 0; --i)
    if (covered *= x.shape[i - 1]; covered == elements)
      return true;
  return c.fail("wants the last dimensions of " + shapeText(x) + " in `" +
                weight.name + "`, which is " + shapeText(weight));
}

/// Checks the optional weight, which covers one or more of x's last dimensions.
bool checkNormWidth(OpCheck& c, const Buffer& x, size_t weight) {
  return c.is(x, real) &&
         (!c.hasIn(weight) ||
          (c.is(c.in(weight), {x.dtype}) && coversRows(c, c.in(weight), x)));
}

/// Checks a statistic with one element per row of x.
bool checkRows(OpCheck& c, const Buffer& rows, const Buffer& x) {
  return c.isMath(rows, x) && c.counts(rows, rowsOf(x));
}

bool checkNorm(OpCheck& c) {
  return checkNormWidth(c, c.in(0), 1) && c.same(c.in(0), c.out(0)) &&
         checkRows(c, c.out(1), c.in(0));
}

bool checkLayerNorm(OpCheck& c) {
  return checkNormWidth(c, c.in(0), 1) && c.same(c.in(0), c.out(0)) &&
         checkRows(c, c.out(1), c.in(0)) && checkRows(c, c.out(2), c.in(0));
}

/// Checks dy, x, w and the `rows` operands with row statistics.
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

} // namespace

bool checkNormOp(OpCheck& c) {
  switch (ops::NormOp(c.op.kind)) {
  case ops::NormOp::RmsNorm:
    return checkNorm(c);
  case ops::NormOp::RmsNormBackward:
    return checkNormBackward(c, 1);
  case ops::NormOp::LayerNorm:
    return checkLayerNorm(c);
  case ops::NormOp::LayerNormBackward:
    return checkNormBackward(c, 2);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
