// Matmuls with dense weights, including joint matmuls of one operand. See
// ValidateOps.cpp.

#include "runtime/ops/DenseOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// Checks `narrow` with k elements per row, `across` with n, and `matrix`
/// [n,k].
bool checkLinear(OpCheck& c, const Buffer& narrow, const Buffer& across,
                 const Buffer& matrix) {
  if (!c.rank(matrix, 2))
    return false;
  int64_t n = matrix.shape[0], k = matrix.shape[1];
  return c.divides(k, elementCount(narrow.shape), "the width of the input") &&
         c.counts(across, elementCount(narrow.shape) / k, n);
}

/// Checks the second and, if present, third matmul of one x (or one dx) against
/// the first.
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

/// Checks x, the two or three output gradients of its matmuls, and the weight
/// gradients.
bool checkJointWgrad(OpCheck& c) {
  if (!c.is(c.in(0), real))
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

/// Checks that x and y have rows of the matrices in w for each token.
bool checkAdapterLinear(OpCheck& c) {
  const Buffer &x = c.in(0), &w = c.in(1), &adapters = c.in(2), &y = c.out(0);
  if (!c.plan.serving || c.plan.serving->adapters < 1)
    return c.fail("reads adapters, and the plan serves none");
  if (!c.rank(w, 2) || !c.is(adapters, {DType::i32}))
    return false;
  const int64_t tokens = elementCount(adapters.shape);
  return c.is(x, real) && c.is(w, {x.dtype}) && c.is(y, {x.dtype}) &&
         c.divides(c.plan.serving->adapters, w.shape[0],
                   "the number of adapters") &&
         c.counts(x, tokens, w.shape[1]) &&
         c.counts(y, tokens, w.shape[0] / c.plan.serving->adapters);
}

bool checkEmbedding(OpCheck& c, bool backward) {
  const Buffer& table = backward ? c.out(0) : c.in(1);
  const Buffer& rows = backward ? c.in(1) : c.out(0);
  return c.is(c.in(0), {DType::i32}) && c.rank(table, 2) && c.is(rows, real) &&
         (backward ? c.isGradient(table, rows) : c.is(table, {rows.dtype})) &&
         c.counts(rows, elementCount(c.in(0).shape), table.shape[1]) &&
         c.axis(ops::EmbeddingAttributes(c.op.attributes).axis);
}

/// Checks that the size of `bias` divides the size of `tokens`.
bool checkBias(OpCheck& c, const Buffer& tokens, const Buffer& bias) {
  return c.is(tokens, real) &&
         c.divides(elementCount(bias.shape), elementCount(tokens.shape),
                   "the width of the bias");
}

} // namespace

bool checkDenseOp(OpCheck& c) {
  switch (ops::DenseOp(c.op.kind)) {
  case ops::DenseOp::Embedding:
    return checkEmbedding(c, false);
  case ops::DenseOp::EmbeddingBackward:
    return checkEmbedding(c, true);
  case ops::DenseOp::Linear:
    return c.is(c.in(0), real) && c.is(c.in(1), {c.in(0).dtype}) &&
           c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.in(0), c.out(0), c.in(1));
  case ops::DenseOp::AdapterLinear:
    return checkAdapterLinear(c);
  case ops::DenseOp::LinearDgrad:
    return c.is(c.in(0), real) && c.is(c.in(1), {c.in(0).dtype}) &&
           c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.out(0), c.in(0), c.in(1));
  case ops::DenseOp::LinearWgrad:
    return c.is(c.in(0), real) && c.is(c.in(1), {c.in(0).dtype}) &&
           c.isGradient(c.out(0), c.in(0)) &&
           checkLinear(c, c.in(0), c.in(1), c.out(0));
  case ops::DenseOp::LinearAdd:
    return c.is(c.in(0), real) && c.is(c.in(1), {c.in(0).dtype}) &&
           c.is(c.out(0), {c.in(0).dtype}) && c.same(c.out(0), c.in(2)) &&
           checkLinear(c, c.in(0), c.out(0), c.in(1));
  case ops::DenseOp::LinearJoint:
    return checkJoint(c, c.in(0), false);
  case ops::DenseOp::LinearJointDgrad:
    return checkJoint(c, c.out(0), true);
  case ops::DenseOp::LinearJointWgrad:
    return checkJointWgrad(c);
  case ops::DenseOp::AddBias:
    return checkBias(c, c.in(0), c.in(1)) && c.is(c.in(1), {c.in(0).dtype}) &&
           c.same(c.in(0), c.out(0));
  case ops::DenseOp::BiasBackward:
    return checkBias(c, c.in(0), c.out(0)) && c.isGradient(c.out(0), c.in(0));
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
