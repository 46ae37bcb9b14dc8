// Ops that quantize to fp8, matmuls of fp8 matrices, and matmuls with quantized
// weights. A matrix has two dimensions; sizes/ScaleBlocks.h gives the number of
// its scales.

#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/plan/AmaxHistories.h"
#include "runtime/plan/OpCheck.h"
#include "runtime/sizes/NarrowRows.h"
#include "runtime/sizes/ScaleBlocks.h"
#include "runtime/sizes/WeightScales.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::plan {
namespace {

const Types narrow = {DType::f8e4m3, DType::f8e5m2};

std::optional<sizes::ScaleBlocks> blocksOf(OpCheck& c, const char* attribute,
                                           const std::string& word) {
  const auto found = sizes::findScaleBlocks(word);
  if (!found)
    c.fail("has `" + std::string(attribute) + "` = `" + word +
           "`, which is not known");
  return found;
}

/// Checks a matrix and the scales of its blocks.
bool checkMatrix(OpCheck& c, const Buffer& q, const Buffer& scale,
                 sizes::ScaleBlocks blocks) {
  if (!c.is(q, narrow) || !c.rank(q, 2))
    return false;
  const sizes::Scales wanted = sizes::scalesOf(blocks, q.shape[0], q.shape[1]);
  return c.is(scale, {wanted.type}) &&
         (blocks == sizes::ScaleBlocks::tensor ? c.counts(scale, 1)
                                               : c.shaped(scale, wanted.shape));
}

/// Checks an output matrix of x's size and its scales.
bool checkMade(OpCheck& c, size_t matrix, size_t scale,
               sizes::ScaleBlocks blocks) {
  if (!c.hasOut(scale))
    return c.fail("makes a matrix without a scale");
  return checkMatrix(c, c.out(matrix), c.out(scale), blocks) &&
         c.counts(c.out(matrix), elementCount(c.in(0).shape));
}

/// Checks the outputs for one tensor that the op casts to fp8. The tensor has
/// the size and type of in(0).
bool checkQuantized(OpCheck& c, const QuantizedTensor& tensor) {
  const auto [first, history] = tensor;
  const auto blocks =
      blocksOf(c, "blocks", ops::QuantizeAttributes(c.op.attributes).blocks);
  if (!blocks || !c.is(c.in(0), {DType::f32, DType::bf16}))
    return false;
  const size_t q = first, qt = first + 2;
  if (!c.hasOut(q) && !c.hasOut(qt))
    return c.fail("makes nothing");
  if (*blocks == sizes::ScaleBlocks::wholeRows &&
      (c.hasOut(qt) || quantizedTensors(c.op.kind).size() > 1))
    return c.fail("makes more than one matrix with scales of whole rows");
  const bool hasOneScale = *blocks == sizes::ScaleBlocks::tensor;
  for (size_t i : {q, qt})
    if (c.hasOut(i) &&
        !checkMade(c, i, hasOneScale ? first + 1 : i + 1, *blocks))
      return false;
  if (c.hasOut(q) && c.hasOut(qt) &&
      !c.shaped(c.out(qt), {c.out(q).shape[1], c.out(q).shape[0]}))
    return false;
  if (c.op.inputs[history] != c.op.outputs[first + 4])
    return c.fail("takes one history and writes another");
  return !c.hasIn(history) ||
         (c.is(c.in(history), {DType::f32}) && c.rank(c.in(history), 1) &&
          (hasOneScale || c.fail("has a history of blocks")));
}

bool checkAllQuantized(OpCheck& c) {
  return std::ranges::all_of(
      quantizedTensors(c.op.kind),
      [&](const QuantizedTensor& tensor) { return checkQuantized(c, tensor); });
}

/// Checks that the two matrices that an op casts, with outputs from 0 and from
/// 5 on, have the same type and shape.
bool areAlike(OpCheck& c) {
  auto matrixFrom = [&](size_t first) {
    Buffer matrix = c.out(c.hasOut(first) ? first : first + 2);
    if (!c.hasOut(first))
      std::swap(matrix.shape[0], matrix.shape[1]);
    return matrix;
  };
  const Buffer first = matrixFrom(0), second = matrixFrom(5);
  return c.is(second, {first.dtype}) && c.shaped(second, first.shape);
}

bool checkMatmul(OpCheck& c) {
  const bool isAdded = c.op.kind == OpKind::ScaledMatmulAdd;
  if (isAdded && !c.same(c.out(0), c.in(4)))
    return false;
  const ops::ScaledMatmulAttributes attributes(c.op.attributes);
  const auto aBlocks = blocksOf(c, "a_blocks", attributes.aBlocks),
             bBlocks = blocksOf(c, "b_blocks", attributes.bBlocks);
  if (!aBlocks || !bBlocks)
    return false;
  const Buffer &a = c.in(0), &b = c.in(1);
  if (*aBlocks == sizes::ScaleBlocks::squares &&
      *bBlocks == sizes::ScaleBlocks::squares)
    return c.fail("has squares on both sides");
  for (const char* word : {"mx", "whole_rows"})
    if ((attributes.aBlocks == word) != (attributes.bBlocks == word))
      return c.fail("has blocks of `" + std::string(word) +
                    "` on one side alone");
  return checkMatrix(c, a, c.in(2), *aBlocks) &&
         checkMatrix(c, b, c.in(3), *bBlocks) &&
         c.shaped(b, {b.shape[0], a.shape[1]}) &&
         c.is(c.out(0), {DType::f32, DType::bf16}) &&
         c.counts(c.out(0), a.shape[0], b.shape[0]);
}

bool checkRmsNormQuantize(OpCheck& c) {
  const Buffer &x = c.in(0), &q = c.out(0), &scale = c.out(1);
  const int64_t width = x.shape.empty() ? 1 : x.shape.back();
  return c.is(x, {DType::f32, DType::bf16}) && c.is(q, {DType::f8e4m3}) &&
         c.shaped(q, {elementCount(x.shape) / width, width}) &&
         c.is(scale, {DType::f32}) && c.shaped(scale, {q.shape[0]}) &&
         (!c.hasIn(1) ||
          (c.is(c.in(1), {x.dtype}) && c.counts(c.in(1), width)));
}

/// Checks a matmul with a weight in 8 or 4 bits.
bool checkQuantizedLinear(OpCheck& c) {
  const Buffer &x = c.in(0), &w = c.in(1), &scale = c.in(2), &y = c.out(0);
  const std::string word =
      ops::QuantizedLinearAttributes(c.op.attributes).scales;
  const auto scales = sizes::findWeightScales(word);
  if (!scales)
    return c.fail("has `scales` = `" + word + "`, which is not known");
  if (!c.is(x, {DType::f32, DType::bf16}) || !c.is(y, {x.dtype}) ||
      !c.is(w, {DType::f8e4m3, DType::i8, DType::u8}) || !c.rank(w, 2) ||
      !c.is(scale, {DType::f32}))
    return false;
  const int64_t n = w.shape[0], k = w.shape[1] * (w.dtype == DType::u8 ? 2 : 1);
  const int64_t rows = elementCount(x.shape) / std::max<int64_t>(1, k);
  return c.counts(x, rows, k) && c.counts(y, rows, n) &&
         c.shaped(scale, sizes::scaleShape(*scales, n, k)) &&
         (!c.hasIn(3) || (c.is(c.in(3), {DType::f32}) && c.counts(c.in(3), k)));
}

/// Checks x [..., h] and the bytes of its rows.
bool checkNarrowRows(OpCheck& c, const Buffer& x, const Buffer& rows) {
  if (!c.is(x, real) || !c.is(rows, {DType::u8}) ||
      !c.rank(rows, x.shape.size()))
    return false;
  if (x.shape.size() < 2 || x.shape.back() < 1)
    return c.fail("wants rows in `" + x.name + "`, which is " + shapeText(x));
  std::vector<int64_t> shape = x.shape;
  shape.back() = sizes::NarrowRow{x.shape.back()}.bytes();
  return c.shaped(rows, shape);
}

bool checkTranspose(OpCheck& c) {
  const Buffer &q = c.in(0), &qt = c.out(0);
  return c.is(q, narrow) && c.rank(q, 2) && c.is(qt, {q.dtype}) &&
         c.shaped(qt, {q.shape[1], q.shape[0]});
}

/// Checks the range of a sharded matrix in all ranks' parts, and the index of
/// its maximum in `maxima`.
bool checkPart(OpCheck& c, const Buffer& part, const Buffer& maxima) {
  const ops::ShardAmaxAttributes attributes(c.op.attributes);
  const std::string& axis = attributes.axis;
  if (!c.is(part, {DType::f32, DType::bf16}) || !c.rank(part, 1) ||
      !c.is(maxima, {DType::f32}) || !c.rank(maxima, 1) || !c.axis(axis))
    return false;
  const int64_t start = attributes.start, count = attributes.count,
                place = attributes.place,
                all = part.shape[0] * axisSize(c.plan.mesh, axis);
  if (start < 0 || count < 1 || count > all || start > all - count)
    return c.fail("takes " + std::to_string(count) + " elements from " +
                  std::to_string(start) + " on, and all parts have " +
                  std::to_string(all));
  return (place >= 0 && place < maxima.shape[0]) ||
         c.fail("names the maximum " + std::to_string(place) + " of " +
                std::to_string(maxima.shape[0]));
}

} // namespace

bool checkQuantizationOp(OpCheck& c) {
  switch (ops::QuantizationOp(c.op.kind)) {
  case ops::QuantizationOp::Quantize:
    return checkAllQuantized(c);
  case ops::QuantizationOp::QuantizeRows:
    return checkNarrowRows(c, c.in(0), c.out(0));
  case ops::QuantizationOp::DequantizeRows:
    return checkNarrowRows(c, c.out(0), c.in(0));
  case ops::QuantizationOp::SwigluQuantize:
    return c.same(c.in(0), c.in(1)) && checkAllQuantized(c);
  case ops::QuantizationOp::RmsNormQuantize:
    return checkRmsNormQuantize(c);
  case ops::QuantizationOp::SwigluBackwardQuantize:
    return c.same(c.in(0), c.in(1)) && c.same(c.in(0), c.in(2)) &&
           checkAllQuantized(c) && areAlike(c);
  case ops::QuantizationOp::Transpose:
    return checkTranspose(c);
  case ops::QuantizationOp::ShardAmax:
    return checkPart(c, c.in(0), c.out(0));
  case ops::QuantizationOp::QuantizeShard:
    return checkPart(c, c.in(0), c.in(1)) && c.is(c.out(0), narrow) &&
           c.shaped(c.out(0), c.in(0).shape) && c.is(c.out(1), {DType::f32}) &&
           c.counts(c.out(1), 1);
  case ops::QuantizationOp::ScaledMatmul:
  case ops::QuantizationOp::ScaledMatmulAdd:
    return checkMatmul(c);
  case ops::QuantizationOp::QuantizedLinear:
    return checkQuantizedLinear(c);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
