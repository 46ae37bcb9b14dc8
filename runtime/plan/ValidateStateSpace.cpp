// The ops of state space layers: convolutions along the sequence, and the state
// scan. See ValidateOps.cpp.

#include "runtime/ops/StateSpaceOps.h"
#include "runtime/plan/OpCheck.h"

#include <algorithm>

namespace reciperun::plan {
namespace {

/// Checks x [b,s,g,c], w [g,c,k] and the tokens' segments.
bool checkConv(OpCheck& c, const Buffer& x, const Buffer& w,
               const Buffer& segments) {
  return c.is(x, real) && c.rank(x, 4) && c.is(w, {x.dtype}) && c.rank(w, 3) &&
         c.shaped(w, {x.shape[2], x.shape[3], w.shape[2]}) &&
         c.is(segments, {DType::i32}) &&
         c.counts(segments, x.shape[0], x.shape[1]);
}

bool checkConvBackward(OpCheck& c) {
  if (!checkConv(c, c.in(1), c.in(2), c.in(3)) || !c.same(c.in(1), c.in(0)))
    return false;
  return (!c.hasOut(0) || c.same(c.in(1), c.out(0))) &&
         (!c.hasOut(1) || (c.isGradient(c.out(1), c.in(1)) &&
                           c.shaped(c.out(1), c.in(2).shape)));
}

/// Checks the inputs from `first` on: x [b,s,g,c], dt [b,s,g,h], b and c
/// [b,s,g,n], a_log, d and dt_bias [g,h], and segments or positions.
bool checkScanInputs(OpCheck& c, size_t first) {
  const Buffer &x = c.in(first), &dt = c.in(first + 1), &b = c.in(first + 2);
  if (!c.is(x, real) || !c.rank(x, 4) || !c.rank(dt, 4) || !c.rank(b, 4))
    return false;
  const int64_t sequences = x.shape[0], tokens = x.shape[1];
  const int64_t groups = x.shape[2], channels = x.shape[3];
  const int64_t heads = dt.shape[3], state = b.shape[3];
  for (size_t i = 1; i < 7; ++i)
    if (!c.is(c.in(first + i), {x.dtype}))
      return false;
  for (size_t i : {4, 5, 6})
    if (!c.shaped(c.in(first + i), {groups, heads}))
      return false;
  const Buffer& segments = c.in(first + 7);
  return c.shaped(dt, {sequences, tokens, groups, heads}) &&
         c.shaped(b, {sequences, tokens, groups, state}) &&
         c.shaped(c.in(first + 3), b.shape) &&
         c.divides(heads, channels, "the heads of a group and its channels") &&
         c.is(segments, {DType::i32}) && c.counts(segments, sequences, tokens);
}

/// Checks the inputs from `first` on, and the length of a chunk.
bool checkScanned(OpCheck& c, size_t first) {
  const int64_t chunk = ops::StateScanAttributes(c.op.attributes).chunk;
  if (chunk < 1)
    return c.fail("scans in chunks of " + std::to_string(chunk) + " tokens");
  return checkScanInputs(c, first);
}

/// Checks `states` [b,g,chunks,c,n] of the inputs from `first` on.
bool checkStates(OpCheck& c, size_t first, const Buffer& states) {
  const int64_t chunk = ops::StateScanAttributes(c.op.attributes).chunk;
  const Buffer &x = c.in(first), &b = c.in(first + 2);
  return c.isMath(states, x) &&
         c.shaped(states, {x.shape[0], x.shape[2], (x.shape[1] - 1) / chunk + 1,
                           x.shape[3], b.shape[3]});
}

bool checkScan(OpCheck& c) {
  return checkScanned(c, 0) && (!c.hasOut(0) || c.same(c.in(0), c.out(0))) &&
         (!c.hasOut(1) || checkStates(c, 0, c.out(1)));
}

bool checkScanBackward(OpCheck& c) {
  if (!checkScanned(c, 1) || !checkStates(c, 1, c.in(9)) ||
      !c.same(c.in(1), c.in(0)))
    return false;
  for (size_t i = 0; i < 4; ++i)
    if (!c.same(c.in(1 + i), c.out(i)))
      return false;
  for (size_t i = 4; i < 7; ++i)
    if (c.hasOut(i) &&
        !(c.isGradient(c.out(i), c.in(1)) && c.shaped(c.out(i), c.in(5).shape)))
      return false;
  return true;
}

/// Checks the inputs of a serving step of x [1,t,g,c].
bool checkServingStep(OpCheck& c, const Buffer& x, const Buffer& sequences) {
  if (!c.plan.serving)
    return c.fail("keeps states of sequences, and the plan does not serve");
  return c.shaped(x, {1, x.shape[1], x.shape[2], x.shape[3]}) &&
         c.is(sequences, {DType::i32}) && c.counts(sequences, x.shape[1]) &&
         c.same(x, c.out(0));
}

bool checkConvStep(OpCheck& c) {
  const Buffer &x = c.in(0), &w = c.in(1), &inputs = c.out(1);
  if (!checkConv(c, x, w, c.in(2)) || !checkServingStep(c, x, c.in(3)))
    return false;
  return c.is(inputs, {x.dtype}) &&
         c.shaped(inputs, {c.plan.serving->maxBatch, x.shape[2], x.shape[3],
                           std::max<int64_t>(1, w.shape[2] - 1)});
}

bool checkScanStep(OpCheck& c) {
  const Buffer &x = c.in(0), &states = c.out(1);
  if (!checkScanInputs(c, 0) || !checkServingStep(c, x, c.in(8)))
    return false;
  return c.isMath(states, x) &&
         c.shaped(states, {c.plan.serving->maxBatch, x.shape[2], x.shape[3],
                           c.in(2).shape[3]});
}

} // namespace

bool checkStateSpaceOp(OpCheck& c) {
  switch (ops::StateSpaceOp(c.op.kind)) {
  case ops::StateSpaceOp::CausalConv:
    return checkConv(c, c.in(0), c.in(1), c.in(2)) && c.same(c.in(0), c.out(0));
  case ops::StateSpaceOp::CausalConvBackward:
    return checkConvBackward(c);
  case ops::StateSpaceOp::StateScan:
    return checkScan(c);
  case ops::StateSpaceOp::StateScanBackward:
    return checkScanBackward(c);
  case ops::StateSpaceOp::CausalConvStep:
    return checkConvStep(c);
  case ops::StateSpaceOp::StateScanStep:
    return checkScanStep(c);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
