// Checks of the ops that make matrices of 8 bits and multiply them: a matrix
// has two dimensions, and its scales as many as Ops.def says.

#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

const Types narrow = {DType::f8e4m3, DType::f8e5m2};

constexpr int64_t blockWidth = 128;

int64_t blocksOf(int64_t count) {
  return (count + blockWidth - 1) / blockWidth;
}

bool isBlocks(OpCheck& c, const char* attribute) {
  return c.isWord(attribute, {"tensor", "rows", "squares"});
}

/// A matrix and the scales of its blocks.
bool checkMatrix(OpCheck& c, const Buffer& q, const Buffer& scale,
                 const std::string& blocks) {
  if (!c.is(q, narrow) || !c.rank(q, 2) || !c.is(scale, {DType::f32}))
    return false;
  const int64_t rows = q.shape[0], columns = q.shape[1];
  if (blocks == "rows")
    return c.shaped(scale, {blocksOf(columns), rows});
  if (blocks == "squares")
    return c.shaped(scale, {blocksOf(rows), (blocksOf(columns) + 3) / 4 * 4});
  return c.counts(scale, 1);
}

/// A result of the size of x, and its scales.
bool checkMade(OpCheck& c, size_t matrix, size_t scale,
               const std::string& blocks) {
  if (!c.hasOut(scale))
    return c.fail("makes a matrix without a scale");
  return checkMatrix(c, c.out(matrix), c.out(scale), blocks) &&
         c.counts(c.out(matrix), elementCount(c.in(0).shape));
}

bool checkQuantize(OpCheck& c) {
  if (!c.arity(2, 5, 5, {1}) || !isBlocks(c, "blocks"))
    return false;
  const std::string& blocks = c.op.string("blocks");
  if (!c.is(c.in(0), {DType::f32, DType::bf16}))
    return false;
  if (!c.hasOut(0) && !c.hasOut(2))
    return c.fail("makes nothing");
  const bool hasOneScale = blocks.empty() || blocks == "tensor";
  for (size_t i : {0, 2})
    if (c.hasOut(i) && !checkMade(c, i, hasOneScale ? 1 : i + 1, blocks))
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
  if (!c.arity(4, 1) || !isBlocks(c, "a_blocks") || !isBlocks(c, "b_blocks"))
    return false;
  const std::string &aBlocks = c.op.string("a_blocks"),
                    &bBlocks = c.op.string("b_blocks");
  const Buffer &a = c.in(0), &b = c.in(1);
  if (aBlocks == "squares" && bBlocks == "squares")
    return c.fail("has squares on both sides");
  return checkMatrix(c, a, c.in(2), aBlocks) &&
         checkMatrix(c, b, c.in(3), bBlocks) &&
         c.shaped(b, {b.shape[0], a.shape[1]}) &&
         c.is(c.out(0), {DType::f32, DType::bf16}) &&
         c.counts(c.out(0), a.shape[0], b.shape[0]);
}

} // namespace

bool checkQuantizedOp(OpCheck& c) {
  return c.op.kind == OpKind::Quantize ? checkQuantize(c) : checkProduct(c);
}

} // namespace reciperun::plan
