// The ops of mixtures of experts: a token's choices, dispatch of tokens to the
// experts' rows, and the experts' matmuls. See ValidateOps.cpp.

#include "runtime/ops/ExpertOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// Checks that an optional operand is absent or has this type and size.
bool isAbsentOr(OpCheck& c, size_t input, DType type, int64_t elements) {
  return !c.hasIn(input) ||
         (c.is(c.in(input), {type}) && c.counts(c.in(input), elements));
}

/// Checks an optional result that the op adds to.
bool isAbsentOrSum(OpCheck& c, size_t output, int64_t elements) {
  return !c.hasOut(output) || (c.is(c.out(output), {DType::f64}) &&
                               c.counts(c.out(output), elements));
}

bool checkRoute(OpCheck& c, bool backward) {
  const Buffer& logits = c.in(backward ? 1 : 0);
  const Buffer& segments = c.in(backward ? 2 : 1);
  const Buffer& choices = backward ? c.in(3) : c.out(0);
  if (!c.rank(choices, 3) || !c.rank(logits, 3))
    return false;
  int64_t tokens = choices.shape[0] * choices.shape[1], k = choices.shape[2];
  int64_t experts = logits.shape[2];
  const ops::RouteAttributes attributes(c.op.attributes);
  const int64_t groups = attributes.groups, kept = attributes.topGroups;
  bool isGrouped = groups >= 1 && groups <= 64 && kept >= 1 && kept <= groups &&
                   experts % groups == 0;
  if (!isGrouped || k < 1 || k > experts / groups * kept)
    return c.fail("cannot choose " + std::to_string(k) + " of " +
                  std::to_string(experts) + " experts in " +
                  std::to_string(kept) + " of " + std::to_string(groups) +
                  " groups");
  DType math = logits.dtype == DType::f64 ? DType::f64 : DType::f32;
  size_t weights = backward ? 4 : 3;
  bool isShaped = c.is(logits, real) && c.is(segments, {DType::i32}) &&
                  c.is(choices, {DType::i32}) && c.counts(segments, tokens) &&
                  c.counts(logits, tokens, experts) &&
                  isAbsentOr(c, weights, DType::f32, tokens) &&
                  isAbsentOr(c, weights + 1, DType::f32, 1) &&
                  c.isWord("score", {"softmax", "sigmoid"});
  if (!isShaped)
    return false;
  if (c.hasIn(weights) != c.hasIn(weights + 1))
    return c.fail("has loss weights without a scale, or one without them");
  if (backward)
    return isAbsentOr(c, 0, math, elementCount(choices.shape)) &&
           c.same(logits, c.out(0));
  return isAbsentOr(c, 2, DType::f32, experts) && c.is(c.out(1), {math}) &&
         c.counts(c.out(1), elementCount(choices.shape)) &&
         isAbsentOrSum(c, 2, 1) && isAbsentOrSum(c, 3, experts) &&
         isAbsentOrSum(c, 4, 2) &&
         (!c.hasOut(2) || c.hasIn(3) || c.fail("has a loss without weights"));
}

bool checkBalance(OpCheck& c) {
  return c.is(c.in(0), {DType::f64}) && c.is(c.out(0), {DType::f32}) &&
         c.counts(c.out(0), elementCount(c.in(0).shape));
}

/// Checks tokens [b,s,h], rows of experts [g,p,h] and choices [b,s,k].
bool checkExperts(OpCheck& c, const Buffer& tokens, const Buffer& rows,
                  const Buffer& numbers) {
  return c.rank(tokens, 3) && c.rank(rows, 3) && c.rank(numbers, 3) &&
         c.is(tokens, real) && c.is(rows, {tokens.dtype}) &&
         c.is(numbers, {DType::i32}) &&
         c.shaped(rows, {rows.shape[0], rows.shape[1], tokens.shape[2]}) &&
         c.shaped(numbers,
                  {tokens.shape[0], tokens.shape[1], numbers.shape[2]}) &&
         (numbers.shape[2] > 0 || c.fail("has tokens without choices"));
}

/// Checks gates [b,s,k], one per choice.
bool checkGates(OpCheck& c, const Buffer& gates, const Buffer& numbers,
                const Buffer& tokens) {
  return c.isMath(gates, tokens) &&
         c.counts(gates, elementCount(numbers.shape));
}

bool checkDispatch(OpCheck& c) {
  return checkExperts(c, c.in(0), c.out(0), c.in(1)) &&
         c.is(c.out(1), {DType::i32}) && c.shaped(c.out(1), c.in(1).shape) &&
         checkCounts(c, c.out(2), c.out(0)) &&
         c.shaped(c.out(2), {c.out(2).shape[0], 1, c.out(2).shape[2]}) &&
         (!c.hasIn(2) || checkGates(c, c.in(2), c.in(1), c.in(0)));
}

/// Checks rows `x` [g,p,h], in the blocks of `counts`, and `y` [g,q,h], the
/// rows packed into one block.
bool checkPacked(OpCheck& c, const Buffer& x, const Buffer& y,
                 const Buffer& counts) {
  if (const int64_t begin = ops::PackRowsAttributes(c.op.attributes).begin;
      begin < 0)
    return c.fail("begins with row " + std::to_string(begin));
  return c.rank(x, 3) && c.rank(y, 3) && c.is(x, real) && c.is(y, {x.dtype}) &&
         c.shaped(y, {x.shape[0], y.shape[1], x.shape[2]}) &&
         (x.shape[2] > 0 || c.fail("has rows without a width")) &&
         checkCounts(c, counts, x);
}

bool checkPack(OpCheck& c) {
  return checkPacked(c, c.in(0), c.out(0), c.in(1)) &&
         (!c.hasOut(1) ||
          (c.is(c.out(1), {DType::i32}) &&
           c.shaped(c.out(1), {c.in(1).shape[0], 1, c.in(1).shape[2]}))) &&
         isAbsentOrSum(c, 2, 2);
}

bool checkCombine(OpCheck& c) {
  return checkExperts(c, c.out(0), c.in(0), c.in(1)) &&
         (!c.hasIn(2) || checkGates(c, c.in(2), c.in(1), c.in(0)));
}

/// Checks the gradient of dispatch, whose result is the tokens' gradient, or of
/// combine.
bool checkExpertsBackward(OpCheck& c, bool isDispatch) {
  const Buffer& tokens = isDispatch ? c.out(0) : c.in(0);
  const Buffer& rows = isDispatch ? c.in(0) : c.out(0);
  if (!checkExperts(c, tokens, rows, c.in(1)))
    return false;
  if ((c.hasIn(2) && !c.hasIn(3)) || (c.hasOut(1) && !c.hasIn(2)))
    return c.fail("has gates without what they multiply");
  return (!c.hasIn(3) || checkGates(c, c.in(3), c.in(1), tokens)) &&
         (!c.hasIn(2) || c.same(isDispatch ? tokens : rows, c.in(2))) &&
         (!c.hasOut(1) || checkGates(c, c.out(1), c.in(1), tokens));
}

/// Checks `dots` [g,p,1] of the first two inputs [g,p,n...].
bool checkRowDots(OpCheck& c, const Buffer& dots) {
  const Buffer& a = c.in(0);
  if (a.shape.size() < 3 || elementCount(a.shape) == 0)
    return c.fail("wants a group, a place and a width in `" + a.name +
                  "`, which is " + shapeText(a));
  return c.is(a, real) && c.same(a, c.in(1)) && c.isMath(dots, a) &&
         c.shaped(dots, {a.shape[0], a.shape[1], 1});
}

bool checkSwigluDots(OpCheck& c) {
  return checkRowDots(c, c.out(2)) && c.same(c.in(0), c.in(2)) &&
         c.same(c.in(0), c.out(0)) && c.same(c.in(0), c.out(1));
}

bool checkGatesBackward(OpCheck& c) {
  const Buffer &dots = c.in(0), &rows = c.in(1);
  return c.is(dots, {DType::f32, DType::f64}) && c.rank(dots, 3) &&
         c.shaped(dots, {dots.shape[0], dots.shape[1], 1}) &&
         c.is(rows, {DType::i32}) && c.rank(rows, 3) &&
         checkGates(c, c.in(2), rows, dots) && c.same(c.in(2), c.out(0));
}

/// Checks `x` [g,p,k...], `y` [g,p,n...], `w` [g m,n...,k...], `counts`
/// [g,n,m].
bool checkExpertLinear(OpCheck& c, const Buffer& x, const Buffer& y,
                       const Buffer& w, const Buffer& counts) {
  if (x.shape.size() < 3 || y.shape.size() < 3 || w.shape.size() < 3)
    return c.fail("wants an expert, a place and a width");
  int64_t rows = x.shape[0] * x.shape[1];
  if (rows < 1 || y.shape[0] != x.shape[0] || y.shape[1] != x.shape[1])
    return c.fail("has rows that differ, " + shapeText(x) + " and " +
                  shapeText(y));
  if (!checkCounts(c, counts, x))
    return false;
  int64_t experts = counts.shape[0] * counts.shape[2];
  if (w.shape[0] != experts)
    return c.fail("counts the rows of " + std::to_string(experts) +
                  " experts, and their weights are " + shapeText(w));
  return c.is(x, real) && c.is(y, {x.dtype}) &&
         c.counts(w, elementCount(x.shape) / rows * experts,
                  elementCount(y.shape) / rows);
}

} // namespace

bool checkCounts(OpCheck& c, const Buffer& counts, const Buffer& rows) {
  if (!c.is(counts, {DType::i32}) || !c.rank(counts, 3))
    return false;
  if (counts.shape[0] != rows.shape[0] || elementCount(counts.shape) < 1)
    return c.fail("counts rows of " + shapeText(rows) + " in " +
                  shapeText(counts));
  return c.divides(counts.shape[1], rows.shape[1], "places in blocks");
}

bool checkExpertsOp(OpCheck& c) {
  switch (ops::ExpertOp(c.op.kind)) {
  case ops::ExpertOp::Route:
    return checkRoute(c, false);
  case ops::ExpertOp::RouteBackward:
    return checkRoute(c, true);
  case ops::ExpertOp::BalanceExperts:
    return checkBalance(c);
  case ops::ExpertOp::Dispatch:
    return checkDispatch(c);
  case ops::ExpertOp::PackRows:
    return checkPack(c);
  case ops::ExpertOp::UnpackRows:
    return checkPacked(c, c.out(0), c.in(0), c.in(1));
  case ops::ExpertOp::DispatchBackward:
    return checkExpertsBackward(c, true);
  case ops::ExpertOp::Combine:
    return checkCombine(c);
  case ops::ExpertOp::CombineBackward:
    return checkExpertsBackward(c, false);
  case ops::ExpertOp::RowDots:
    return checkRowDots(c, c.out(0));
  case ops::ExpertOp::SwigluBackwardDots:
    return checkSwigluDots(c);
  case ops::ExpertOp::GatesBackward:
    return checkGatesBackward(c);
  case ops::ExpertOp::ExpertLinear:
    return c.is(c.in(1), {c.in(0).dtype}) &&
           checkExpertLinear(c, c.in(0), c.out(0), c.in(1), c.in(2));
  case ops::ExpertOp::ExpertLinearDgrad:
    return c.is(c.in(1), {c.in(0).dtype}) &&
           checkExpertLinear(c, c.out(0), c.in(0), c.in(1), c.in(2));
  case ops::ExpertOp::ExpertLinearWgrad:
    return c.isGradient(c.out(0), c.in(0)) &&
           checkExpertLinear(c, c.in(0), c.in(1), c.out(0), c.in(2)) &&
           (c.out(0).dtype != DType::bf16 ||
            c.workspace(elementCount(c.out(0).shape) / c.out(0).shape[0]));
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
