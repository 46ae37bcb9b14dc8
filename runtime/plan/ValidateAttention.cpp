// Attention over a rank's own keys, over blocks of keys in a ring, and over the
// pages of a KV cache. See ValidateOps.cpp.

#include "runtime/ops/AttentionOps.h"
#include "runtime/plan/OpCheck.h"
#include "runtime/sizes/AttentionWorkspace.h"

#include <algorithm>
#include <limits>

namespace reciperun::plan {
namespace {

/// Checks q [b,s,hq,d], k and v [b,t,hk,d].
bool checkHeads(OpCheck& c, const Buffer& q, const Buffer& k, const Buffer& v) {
  const ops::AttentionAttributes attributes(c.op.attributes);
  for (auto [name, tokens] : {std::pair("window", attributes.window),
                              std::pair("chunk", attributes.chunk)})
    if (tokens < 0 || tokens > std::numeric_limits<int32_t>::max())
      return c.fail("has `" + std::string(name) +
                    "` below 0 or above 2^31 - 1");
  for (auto [name, value] : {std::pair("softcap", attributes.softcap),
                             std::pair("scale", attributes.scale)})
    if (!(value >= 0))
      return c.fail("has `" + std::string(name) + "` below 0");
  return c.rank(q, 4) && c.rank(k, 4) && c.is(q, real) && c.same(k, v) &&
         c.is(k, {q.dtype}) &&
         c.shaped(k, {q.shape[0], k.shape[1], k.shape[2], q.shape[3]}) &&
         c.divides(k.shape[2], q.shape[2], "heads of keys and of queries");
}

/// Checks four inputs from `first` on: segments and places of the queries, then
/// of the keys.
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
  if (!checkHeads(c, c.in(0), c.in(1), c.in(2)))
    return false;
  const Buffer& q = c.in(0);
  return checkTokens(c, q, c.in(1), 3) && c.same(q, c.out(0)) &&
         checkLse(c, c.out(1), q);
}

sizes::AttentionSizes sizesOf(const OpCheck& c, const Buffer& q,
                              const Buffer& k) {
  return sizes::attentionSizes(ops::AttentionAttributes(c.op.attributes),
                               q.dtype, q.shape, k.shape);
}

/// Beyond this size workspace sizes could exceed 2^63.
bool isMeasurable(OpCheck& c, const Buffer& q) {
  return double(q.shape[0]) * double(q.shape[2]) *
                 std::max(double(q.shape[1]), 128.0) *
                 std::max({double(q.shape[1]), double(q.shape[3]), 128.0}) <
             0x1p56 ||
         c.fail("attends with more than 2^56 scores");
}

bool hasRoom(OpCheck& c, int64_t elements) {
  return elements == 0 || c.workspace(elements);
}

bool checkAttentionBackward(OpCheck& c) {
  if (!checkHeads(c, c.in(2), c.in(3), c.in(4)))
    return false;
  const Buffer &q = c.in(2), &k = c.in(3);
  return c.same(q, c.in(0)) && c.same(q, c.in(1)) && checkLse(c, c.in(5), q) &&
         checkTokens(c, q, k, 6) && c.same(q, c.out(0)) &&
         c.same(k, c.out(1)) && c.same(k, c.out(2)) && isMeasurable(c, q) &&
         hasRoom(c, sizes::attentionWorkspace(sizesOf(c, q, k)));
}

/// Checks that the op's step is below the number of ranks of its ring.
bool checkStep(OpCheck& c) {
  const ops::AttentionBlockAttributes attributes(c.op.attributes);
  const int64_t ranks = axisSize(c.plan.mesh, attributes.axis);
  return c.axis(attributes.axis) &&
         ((attributes.step >= 0 && attributes.step < ranks) ||
          c.fail("is step " + std::to_string(attributes.step) +
                 " of a ring of " + std::to_string(ranks)));
}

/// Checks an accumulator for an output or gradient with the size of `operand`.
bool isSum(OpCheck& c, const Buffer& sum, const Buffer& operand) {
  return c.isMath(sum, operand) && c.counts(sum, elementCount(operand.shape));
}

/// Checks optional scratch memory, which has the type and size of `operand`.
bool isRoom(OpCheck& c, size_t result, const Buffer& operand) {
  return !c.hasOut(result) || c.same(operand, c.out(result));
}

bool checkAttentionBlock(OpCheck& c) {
  if (!checkStep(c) || !checkHeads(c, c.in(0), c.in(1), c.in(2)))
    return false;
  const Buffer& q = c.in(0);
  return checkTokens(c, q, c.in(1), 3) && isSum(c, c.out(0), q) &&
         checkLse(c, c.out(1), q) && isRoom(c, 2, q);
}

bool checkAttentionBlocksEnd(OpCheck& c) {
  const Buffer& out = c.out(0);
  return c.is(out, real) && isSum(c, c.in(0), out) && c.isMath(c.out(1), out);
}

bool checkAttentionBlockBackward(OpCheck& c) {
  if (!checkStep(c) || !checkHeads(c, c.in(2), c.in(3), c.in(4)))
    return false;
  const Buffer &q = c.in(2), &k = c.in(3);
  return c.same(q, c.in(0)) && c.same(q, c.in(1)) && checkLse(c, c.in(5), q) &&
         checkTokens(c, q, k, 6) && isSum(c, c.out(0), q) &&
         isSum(c, c.out(1), k) && isSum(c, c.out(2), k) && isRoom(c, 3, q) &&
         isRoom(c, 4, k) && isRoom(c, 5, k) && isMeasurable(c, q) &&
         hasRoom(c, sizes::blockWorkspace(sizesOf(c, q, k)));
}

/// Checks pages [pages, page, hk, d] of keys or values like `k`, and the scales
/// of pages in 8 bits.
bool checkPagesLike(OpCheck& c, const Buffer& k, size_t pages) {
  const Serving& serving = *c.plan.serving;
  const size_t scales = pages + 2;
  if (!c.is(c.out(pages), {k.dtype, DType::f8e4m3, DType::i8}) ||
      !c.shaped(c.out(pages),
                {serving.pages, serving.page, k.shape[2], k.shape[3]}))
    return false;
  if (c.out(pages).dtype == k.dtype)
    return !c.hasOut(scales) ||
           c.fail("has scales for pages in the compute type");
  if (!c.hasOut(scales))
    return c.fail("has no scales for pages in 8 bits");
  return c.is(c.out(scales), {DType::f32}) &&
         c.shaped(c.out(scales), {serving.pages, serving.page, k.shape[2]});
}

/// Checks that the op's plan has pages: k_pages and v_pages of the same type,
/// and a table [maxBatch, pages of a sequence].
bool checkPages(OpCheck& c, const Buffer& k) {
  if (!c.plan.serving || c.plan.serving->page < 1)
    return c.fail("needs pages, and the plan has none");
  const Serving& serving = *c.plan.serving;
  return c.is(c.in(5), {DType::i32}) &&
         c.shaped(c.in(5), {serving.maxBatch, pagesOfSequence(serving)}) &&
         checkPagesLike(c, k, 1) && checkPagesLike(c, k, 2) &&
         c.is(c.out(2), {c.out(1).dtype});
}

/// Checks how x [b,s,n,d] is rotated.
bool checkRotation(OpCheck& c, const Buffer& x) {
  if (!c.rank(x, 4))
    return false;
  const int64_t rotated = ops::RopeAttributes(c.op.attributes).rotated;
  if (rotated < 0 || rotated > x.shape[3])
    return c.fail("rotates " + std::to_string(rotated) + " of " +
                  std::to_string(x.shape[3]) + " elements");
  return c.divides(2, rotated ? rotated : x.shape[3],
                   "rotation pairs the head's dimensions") &&
         c.isWord("scaling", {"none", "linear", "llama3", "yarn"});
}

bool checkAttentionPaged(OpCheck& c) {
  if (!checkHeads(c, c.in(0), c.in(1), c.in(2)))
    return false;
  const Buffer &q = c.in(0), &k = c.in(1);
  if (!c.shaped(q, {1, q.shape[1], q.shape[2], q.shape[3]}) ||
      !c.shaped(k, {1, q.shape[1], k.shape[2], q.shape[3]}))
    return false;
  for (size_t i : {3, 4})
    if (!c.is(c.in(i), {DType::i32}) || !c.counts(c.in(i), q.shape[1]))
      return false;
  const ops::AttentionPagedAttributes attributes(c.op.attributes);
  if (attributes.rope && attributes.inverse)
    return c.fail("rotates queries and keys backwards");
  if (attributes.rope && !checkRotation(c, q))
    return false;
  return c.same(q, c.out(0)) && checkPages(c, k) &&
         hasRoom(c, sizes::pagedWorkspace({k.dtype, c.out(1).dtype, k.shape[1],
                                           k.shape[2], k.shape[3]}));
}

bool checkRope(OpCheck& c) {
  const Buffer& x = c.in(0);
  return checkRotation(c, x) && c.is(x, real) && c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), x.shape[0] * x.shape[1]) && c.same(x, c.out(0));
}

bool checkPositionScale(OpCheck& c) {
  const Buffer& x = c.in(0);
  return c.is(x, real) && c.same(x, c.out(0)) && x.shape.size() >= 2 &&
         c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), x.shape[0] * x.shape[1]);
}

} // namespace

bool checkAttentionOp(OpCheck& c) {
  switch (ops::AttentionOp(c.op.kind)) {
  case ops::AttentionOp::Rope:
    return checkRope(c);
  case ops::AttentionOp::PositionScale:
    return checkPositionScale(c);
  case ops::AttentionOp::Attention:
    return checkAttention(c);
  case ops::AttentionOp::AttentionBackward:
    return checkAttentionBackward(c);
  case ops::AttentionOp::RingAttention:
  case ops::AttentionOp::RingAttentionBackward:
    return c.fail("is no op of a plan");
  case ops::AttentionOp::AttentionBlock:
    return checkAttentionBlock(c);
  case ops::AttentionOp::AttentionBlocksEnd:
    return checkAttentionBlocksEnd(c);
  case ops::AttentionOp::AttentionBlockBackward:
    return checkAttentionBlockBackward(c);
  case ops::AttentionOp::AttentionPaged:
    return checkAttentionPaged(c);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
