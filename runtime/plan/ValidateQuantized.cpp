// Checks of the ops that make matrices of 8 bits and multiply them: a matrix
// has two dimensions, and its scales as many as Ops.def says.

#include "runtime/plan/OpCheck.h"
#include "runtime/plan/ScaleBlocks.h"

#include <optional>
#include <string>

namespace reciperun::plan {
namespace {

const Types narrow = {DType::f8e4m3, DType::f8e5m2};

std::optional<ScaleBlocks> blocksOf(OpCheck& c, const char* attribute) {
  const auto found = findScaleBlocks(c.op.string(attribute));
  if (!found)
    c.fail("has `" + std::string(attribute) + "` = `" + c.op.string(attribute) +
           "`, which is not known");
  return found;
}

/// A matrix and the scales of its blocks.
bool checkMatrix(OpCheck& c, const Buffer& q, const Buffer& scale,
                 ScaleBlocks blocks) {
  if (!c.is(q, narrow) || !c.rank(q, 2))
    return false;
  const Scales wanted = scalesOf(blocks, q.shape[0], q.shape[1]);
  return c.is(scale, {wanted.type}) &&
         (blocks == ScaleBlocks::tensor ? c.counts(scale, 1)
                                        : c.shaped(scale, wanted.shape));
}

/// A result of the size of x, and its scales.
bool checkMade(OpCheck& c, size_t matrix, size_t scale, ScaleBlocks blocks) {
  if (!c.hasOut(scale))
    return c.fail("makes a matrix without a scale");
  return checkMatrix(c, c.out(matrix), c.out(scale), blocks) &&
         c.counts(c.out(matrix), elementCount(c.in(0).shape));
}

bool checkQuantize(OpCheck& c) {
  if (!c.arity(2, 5, 5, {1}))
    return false;
  const auto blocks = blocksOf(c, "blocks");
  if (!blocks || !c.is(c.in(0), {DType::f32, DType::bf16}))
    return false;
  if (!c.hasOut(0) && !c.hasOut(2))
    return c.fail("makes nothing");
  const bool hasOneScale = *blocks == ScaleBlocks::tensor;
  for (size_t i : {0, 2})
    if (c.hasOut(i) && !checkMade(c, i, hasOneScale ? 1 : i + 1, *blocks))
      return false;
  if (c.hasOut(0) && c.hasOut(2) &&
      !c.shaped(c.out(2), {c.out(0).shape[1], c.out(0).shape[0]}))
    return false;
  if (c.op.inputs[1] != c.op.outputs[4])
    return c.fail("takes one history and writes another");
  return !c.hasIn(1) || (c.is(c.in(1), {DType::f32}) && c.rank(c.in(1), 1) &&
                         (hasOneScale || c.fail("has a history of blocks")));
}

bool checkProduct(OpCheck& c) {
  if (!c.arity(4, 1))
    return false;
  const auto aBlocks = blocksOf(c, "a_blocks"),
             bBlocks = blocksOf(c, "b_blocks");
  if (!aBlocks || !bBlocks)
    return false;
  const Buffer &a = c.in(0), &b = c.in(1);
  if (*aBlocks == ScaleBlocks::squares && *bBlocks == ScaleBlocks::squares)
    return c.fail("has squares on both sides");
  if ((*aBlocks == ScaleBlocks::mx) != (*bBlocks == ScaleBlocks::mx))
    return c.fail("has blocks of `mx` on one side alone");
  return checkMatrix(c, a, c.in(2), *aBlocks) &&
         checkMatrix(c, b, c.in(3), *bBlocks) &&
         c.shaped(b, {b.shape[0], a.shape[1]}) &&
         c.is(c.out(0), {DType::f32, DType::bf16}) &&
         c.counts(c.out(0), a.shape[0], b.shape[0]);
}

} // namespace

bool checkQuantizedOp(OpCheck& c) {
  return c.op.kind == OpKind::Quantize ? checkQuantize(c) : checkProduct(c);
}

} // namespace reciperun::plan
