// FLOPs follow from element counts, so the grouping of dimensions does not
// matter: a matmul of x [m,k], w [n,k] and y [m,n] has m n k = sqrt(|x| |w|
// |y|).

#include "compiler/cost/Flops.h"

#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/ExpertOps.h"
#include "runtime/ops/OpTable.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/ops/StateSpaceOps.h"

#include <algorithm>
#include <cmath>

namespace recipec::cost {
namespace {

using ir::OpKind;
using ir::ValueId;
using Shape = std::vector<int64_t>;

Shape wholeShape(const ir::Module& program, ValueId value) {
  Shape shape;
  for (ir::DimId dim : program[value].dims)
    shape.push_back(program[dim].size);
  return shape;
}

double elements(const Shape& shape) {
  double count = 1;
  for (int64_t size : shape)
    count *= double(size);
  return count;
}

/// Limits `keys` to `tokens`; 0 means no limit.
int64_t bound(int64_t tokens, int64_t keys) {
  return tokens == 0 ? keys : std::min(keys, tokens);
}

/// The average number of `keys` that a query attends to: the keys of its chunk,
/// the last ones in its window, and half of them when attention is causal.
double seenKeys(const ops::AttentionAttributes& attributes, int64_t keys) {
  double all = double(bound(attributes.chunk, keys));
  if (!attributes.causal)
    return all;
  double window = double(bound(attributes.window, int64_t(all)));
  return window - window * (window - 1) / (2 * all);
}

/// The FLOPs of one query and one key: q k^T and p v, over all heads. Zeros
/// that pad narrower values do not count.
double pairFlops(const ops::AttentionAttributes& attributes, const Shape& q) {
  double values =
      double(attributes.valueWidth > 0 ? attributes.valueWidth : q[3]);
  return 2 * double(q[2]) * (double(q[3]) + values);
}

/// q: [batch, queries, heads, head_dim]. `keys` counts the whole sequence,
/// however it is sharded.
double attention(const ir::Op& op, const Shape& q, int64_t keys) {
  const ops::AttentionAttributes attributes(op.attributes);
  double seen = seenKeys(attributes, keys);
  return pairFlops(attributes, q) * double(q[0]) * double(q[1]) * seen;
}

/// q: [1, tokens, heads, head_dim]. Each token attends to the longest sequence,
/// whose length follows from `pages` [sequences, pages of a sequence] and
/// `k_pages` [pages, page, kv_heads, head_dim].
double pagedAttention(const ir::Op& op, const Shape& q, const Shape& pages,
                      const Shape& keyPages) {
  const ops::AttentionAttributes attributes(op.attributes);
  const int64_t keys =
      bound(attributes.window, bound(attributes.chunk, pages[1] * keyPages[1]));
  return pairFlops(attributes, q) * double(q[1]) * double(keys);
}

/// x [g,p,k...], w [e,...], y [g,p,n...] in any order: twice the average number
/// of rows with tokens times the elements of one expert's weight.
template <class ShapeOf>
double expertLinear(const ir::Op& op, const ShapeOf& shapeOf) {
  bool isWgrad = op.kind == OpKind::ExpertLinearWgrad;
  Shape rows = shapeOf(op.operands[0]);
  Shape weight = shapeOf(isWgrad ? op.results[0] : op.operands[1]);
  double used = ops::ExpertLinearAttributes(op.attributes).used;
  return 2 * used * double(rows[0]) * double(rows[1]) * elements(weight) /
         double(weight[0]);
}

/// x [b,s,groups,channels], b [b,s,groups,state]: each token decays each
/// element of its channels' states, adds a product to it and accumulates the
/// element times C into y.
double stateScan(const Shape& x, const Shape& b) {
  return 5 * elements(x) * double(b[3]);
}

/// w [groups,channels,kernel].
double causalConv(const Shape& x, const Shape& w) {
  return 2 * elements(x) * double(w[2]);
}

/// One matmul, from the elements of its two operands and its result.
template <class ShapeOf>
double product(const ShapeOf& shapeOf, ValueId a, ValueId b, ValueId c) {
  return 2 * std::sqrt(elements(shapeOf(a)) * elements(shapeOf(b)) *
                       elements(shapeOf(c)));
}

/// Two or three matmuls that share an operand or a result.
template <class ShapeOf>
double joint(const ir::Op& op, const ShapeOf& shapeOf) {
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) {
    const bool isDgrad = op.kind == OpKind::LinearJointDgrad;
    const ValueId own = op.operands[isDgrad ? i : 1 + i];
    if (own != ValueId::none)
      sum += isDgrad ? product(shapeOf, own, op.operands[3 + i], op.results[0])
                     : product(shapeOf, op.operands[0], own, op.results[i]);
  }
  return sum;
}

template <class ShapeOf>
double denseOp(const ir::Op& op, const ShapeOf& shapeOf) {
  switch (ops::DenseOp(op.kind)) {
  case ops::DenseOp::Linear:
  case ops::DenseOp::LinearDgrad:
  case ops::DenseOp::LinearWgrad:
  case ops::DenseOp::LinearAdd:
    return product(shapeOf, op.operands[0], op.operands[1], op.results[0]);
  case ops::DenseOp::AdapterLinear: // of one adapter for each token
    return product(shapeOf, op.operands[0], op.operands[1], op.results[0]) /
           std::sqrt(double(shapeOf(op.operands[1])[0]));
  case ops::DenseOp::LinearJoint:
  case ops::DenseOp::LinearJointDgrad:
  case ops::DenseOp::LinearJointWgrad:
    return joint(op, shapeOf);
  case ops::DenseOp::Embedding:
  case ops::DenseOp::EmbeddingBackward:
  case ops::DenseOp::AddBias:
  case ops::DenseOp::BiasBackward:
    return 0;
  }
  return 0;
}

/// For int4: a stored u8 holds two elements of the weight.
template <class ShapeOf>
double quantizedLinear(const ir::Module& program, const ir::Op& op,
                       const ShapeOf& shapeOf) {
  const bool hasPairs = program[op.operands[1]].type == ir::DType::u8;
  return product(shapeOf, op.operands[0], op.operands[1], op.results[0]) *
         (hasPairs ? std::sqrt(2.0) : 1.0);
}

template <class ShapeOf>
double quantizationOp(const ir::Module& program, const ir::Op& op,
                      const ShapeOf& shapeOf) {
  switch (ops::QuantizationOp(op.kind)) {
  case ops::QuantizationOp::ScaledMatmul:
  case ops::QuantizationOp::ScaledMatmulAdd:
    return product(shapeOf, op.operands[0], op.operands[1], op.results[0]);
  case ops::QuantizationOp::QuantizedLinear:
    return quantizedLinear(program, op, shapeOf);
  case ops::QuantizationOp::Quantize:
  case ops::QuantizationOp::QuantizeRows:
  case ops::QuantizationOp::DequantizeRows:
  case ops::QuantizationOp::SwigluQuantize:
  case ops::QuantizationOp::RmsNormQuantize:
  case ops::QuantizationOp::SwigluBackwardQuantize:
  case ops::QuantizationOp::Transpose:
  case ops::QuantizationOp::ShardAmax:
  case ops::QuantizationOp::QuantizeShard:
    return 0;
  }
  return 0;
}

template <class ShapeOf>
double expertOp(const ir::Op& op, const ShapeOf& shapeOf) {
  switch (ops::ExpertOp(op.kind)) {
  case ops::ExpertOp::ExpertLinear:
  case ops::ExpertOp::ExpertLinearDgrad:
  case ops::ExpertOp::ExpertLinearWgrad:
    return expertLinear(op, shapeOf);
  case ops::ExpertOp::Route:
  case ops::ExpertOp::RouteBackward:
  case ops::ExpertOp::BalanceExperts:
  case ops::ExpertOp::Dispatch:
  case ops::ExpertOp::PackRows:
  case ops::ExpertOp::UnpackRows:
  case ops::ExpertOp::DispatchBackward:
  case ops::ExpertOp::Combine:
  case ops::ExpertOp::CombineBackward:
  case ops::ExpertOp::RowDots:
  case ops::ExpertOp::SwigluBackwardDots:
  case ops::ExpertOp::GatesBackward:
    return 0;
  }
  return 0;
}

/// The number of steps in a ring. Over all steps a rank attends to each key
/// once, so a step has an equal share on average.
double ranksOfRing(const ir::Module& program, const ir::Op& op) {
  return double(ir::sizeOf(program, op.group));
}

template <class ShapeOf>
double attentionOp(const ir::Module& program, const ir::Op& op,
                   const ShapeOf& shapeOf) {
  auto keysOf = [&](ValueId k) { return wholeShape(program, k)[1]; };
  switch (ops::AttentionOp(op.kind)) {
  case ops::AttentionOp::Attention:
  case ops::AttentionOp::RingAttention:
    return attention(op, shapeOf(op.operands[0]), keysOf(op.operands[1]));
  case ops::AttentionOp::AttentionBackward:
  case ops::AttentionOp::RingAttentionBackward:
    return 2 * attention(op, shapeOf(op.operands[2]), keysOf(op.operands[3]));
  case ops::AttentionOp::AttentionBlock:
    return attention(op, shapeOf(op.operands[0]), keysOf(op.operands[1])) /
           ranksOfRing(program, op);
  case ops::AttentionOp::AttentionBlockBackward:
    return 2 * attention(op, shapeOf(op.operands[2]), keysOf(op.operands[3])) /
           ranksOfRing(program, op);
  case ops::AttentionOp::AttentionPaged:
    return pagedAttention(op, shapeOf(op.operands[0]), shapeOf(op.operands[5]),
                          shapeOf(op.results[1]));
  case ops::AttentionOp::AttentionBlocksEnd:
  case ops::AttentionOp::Rope:
  case ops::AttentionOp::PositionScale:
    return 0;
  }
  return 0;
}

template <class ShapeOf>
double stateSpaceOp(const ir::Op& op, const ShapeOf& shapeOf) {
  switch (ops::StateSpaceOp(op.kind)) {
  case ops::StateSpaceOp::CausalConv:
    return causalConv(shapeOf(op.operands[0]), shapeOf(op.operands[1]));
  case ops::StateSpaceOp::CausalConvBackward: // of x, of w, or of both
    return double(op.results.size() -
                  size_t(std::count(op.results.begin(), op.results.end(),
                                    ValueId::none))) *
           causalConv(shapeOf(op.operands[1]), shapeOf(op.operands[2]));
  case ops::StateSpaceOp::StateScan:
    return stateScan(shapeOf(op.operands[0]), shapeOf(op.operands[2]));
  case ops::StateSpaceOp::CausalConvStep:
    return causalConv(shapeOf(op.operands[0]), shapeOf(op.operands[1]));
  case ops::StateSpaceOp::StateScanStep:
    return stateScan(shapeOf(op.operands[0]), shapeOf(op.operands[2]));
  case ops::StateSpaceOp::StateScanBackward:
    return 2 * stateScan(shapeOf(op.operands[1]), shapeOf(op.operands[3]));
  }
  return 0;
}

/// Only matmuls, attention and scans count. The other families are
/// memory-bound.
template <class ShapeOf>
double flops(const ir::Module& program, const ir::Op& op,
             const ShapeOf& shapeOf) {
  switch (ops::infoOf(op.kind).family) {
  case ops::OpFamily::attention:
    return attentionOp(program, op, shapeOf);
  case ops::OpFamily::dense:
    return denseOp(op, shapeOf);
  case ops::OpFamily::experts:
    return expertOp(op, shapeOf);
  case ops::OpFamily::quantization:
    return quantizationOp(program, op, shapeOf);
  case ops::OpFamily::stateSpace:
    return stateSpaceOp(op, shapeOf);
  case ops::OpFamily::activations:
  case ops::OpFamily::collectives:
  case ops::OpFamily::loss:
  case ops::OpFamily::moves:
  case ops::OpFamily::norms:
  case ops::OpFamily::optimizer:
  case ops::OpFamily::sampling:
    return 0;
  }
  return 0;
}

} // namespace

bool isNarrowMatmul(const ir::Op& op) {
  return op.kind == OpKind::ScaledMatmul || op.kind == OpKind::ScaledMatmulAdd;
}

double wholeFlops(const ir::Module& program, const ir::Op& op) {
  return flops(program, op,
               [&](ValueId value) { return wholeShape(program, value); });
}

double localFlops(const ir::Module& program, const ir::Op& op) {
  return flops(program, op,
               [&](ValueId value) { return ir::localShape(program, value); });
}

} // namespace recipec::cost
