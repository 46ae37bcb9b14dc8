// Counts from element counts, so that it does not matter how dimensions are
// grouped: a product of x [m,k], w [n,k] and y [m,n] has
// m n k = sqrt(|x| |w| |y|).

#include "compiler/cost/Flops.h"

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

bool isCausal(const ir::Op& op) {
  auto causal = op.attributes.find("causal");
  return causal == op.attributes.end() || std::get<bool>(causal->second);
}

int64_t bound(const ir::Op& op, const char* name, int64_t keys) {
  auto found = op.attributes.find(name);
  return found == op.attributes.end()
             ? keys
             : std::min(keys, std::get<int64_t>(found->second));
}

/// How many of `keys` keys a query sees on average, wherever it stands: of its
/// chunk, of the last of a window, half of them where attention is causal.
double seenKeys(const ir::Op& op, int64_t keys) {
  double all = double(bound(op, "chunk", keys));
  if (!isCausal(op))
    return all;
  double window = double(bound(op, "window", int64_t(all)));
  return window - window * (window - 1) / (2 * all);
}

/// q: [batch, queries, heads, head_dim], to `keys` keys: those of the whole
/// sequence, whichever part of them is here.
double attention(const ir::Op& op, const Shape& q, int64_t keys) {
  double seen = seenKeys(op, keys);
  double pairs = double(q[1]) * seen;
  // q k^T and p v; zeros behind narrower values are none of the model's.
  auto width = op.attributes.find("value_width");
  double values = double(
      width == op.attributes.end() ? q[3] : std::get<int64_t>(width->second));
  return 2 * pairs * double(q[0]) * double(q[2]) * (double(q[3]) + values);
}

/// q: [1, tokens, heads, head_dim], cache: [capacity, kv_heads, head_dim].
double cachedAttention(const Shape& q, const Shape& cache) {
  return 4 * elements(q) * double(cache[0]);
}

/// x [g,p,k...], w [e,...], y [g,p,n...] in any order: rows times the elements
/// of an expert's weight, of the rows those that tokens take on average.
template <class ShapeOf>
double expertLinear(const ir::Op& op, const ShapeOf& shapeOf) {
  bool isWgrad = op.kind == OpKind::ExpertLinearWgrad;
  Shape rows = shapeOf(op.operands[0]);
  Shape weight = shapeOf(isWgrad ? op.results[0] : op.operands[1]);
  double used = std::get<double>(op.attributes.at("used"));
  return 2 * used * double(rows[0]) * double(rows[1]) * elements(weight) /
         double(weight[0]);
}

/// x [b,s,groups,channels], b [b,s,groups,state]: each token decays each
/// element of its channels' states, adds a product to it and multiplies it into
/// y.
double stateScan(const Shape& x, const Shape& b) {
  return 5 * elements(x) * double(b[3]);
}

/// w [groups,channels,kernel].
double causalConv(const Shape& x, const Shape& w) {
  return 2 * elements(x) * double(w[2]);
}

/// One product: its two factors' and its result's elements.
template <class ShapeOf>
double product(const ShapeOf& shapeOf, ValueId a, ValueId b, ValueId c) {
  return 2 * std::sqrt(elements(shapeOf(a)) * elements(shapeOf(b)) *
                       elements(shapeOf(c)));
}

/// Two or three products that share an operand or a result.
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
double flops(const ir::Module& program, const ir::Op& op,
             const ShapeOf& shapeOf) {
  auto keysOf = [&](ValueId k) { return wholeShape(program, k)[1]; };
  switch (op.kind) {
  case OpKind::Linear:
  case OpKind::LinearDgrad:
  case OpKind::LinearWgrad:
  case OpKind::ScaledProduct:
  case OpKind::ScaledProductAdd:
  case OpKind::LinearAdd:
    return product(shapeOf, op.operands[0], op.operands[1], op.results[0]);
  case OpKind::LinearJoint:
  case OpKind::LinearJointDgrad:
  case OpKind::LinearJointWgrad:
    return joint(op, shapeOf);
  case OpKind::ExpertLinear:
  case OpKind::ExpertLinearDgrad:
  case OpKind::ExpertLinearWgrad:
    return expertLinear(op, shapeOf);
  case OpKind::Attention:
  case OpKind::RingAttention:
    return attention(op, shapeOf(op.operands[0]), keysOf(op.operands[1]));
  case OpKind::AttentionBackward:
  case OpKind::RingAttentionBackward:
    return 2 * attention(op, shapeOf(op.operands[2]), keysOf(op.operands[3]));
  case OpKind::AttentionCached:
    return cachedAttention(shapeOf(op.operands[0]), shapeOf(op.results[1]));
  case OpKind::CausalConv:
    return causalConv(shapeOf(op.operands[0]), shapeOf(op.operands[1]));
  case OpKind::CausalConvBackward: // of x, of w, or of both
    return double(op.results.size() -
                  size_t(std::count(op.results.begin(), op.results.end(),
                                    ValueId::none))) *
           causalConv(shapeOf(op.operands[1]), shapeOf(op.operands[2]));
  case OpKind::StateScan:
    return stateScan(shapeOf(op.operands[0]), shapeOf(op.operands[2]));
  case OpKind::StateScanBackward:
    return 2 * stateScan(shapeOf(op.operands[1]), shapeOf(op.operands[3]));
  default:
    return 0;
  }
}

} // namespace

double wholeFlops(const ir::Module& program, const ir::Op& op) {
  return flops(program, op,
               [&](ValueId value) { return wholeShape(program, value); });
}

double localFlops(const ir::Module& program, const ir::Op& op) {
  return flops(program, op,
               [&](ValueId value) { return ir::localShape(program, value); });
}

} // namespace recipec::cost
