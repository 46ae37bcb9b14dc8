// Counts from element counts, so that it does not matter how dimensions are
// grouped: a product of x [m,k], w [n,k] and y [m,n] has
// m n k = sqrt(|x| |w| |y|).

#include "compiler/cost/Flops.h"

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

/// q: [batch, queries, heads, head_dim], to `keys` keys: those of the whole
/// sequence, whichever part of them is here. Causal queries, wherever they
/// stand in it, see half of them on average.
double attention(const Shape& q, int64_t keys, bool causal) {
  double seen = causal ? double(keys + 1) / 2 : double(keys);
  double pairs = double(q[1]) * seen;
  double products = 2; // q k^T and p v
  return products * 2 * pairs * double(q[0]) * double(q[2]) * double(q[3]);
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

template <class ShapeOf>
double flops(const ir::Module& program, const ir::Op& op,
             const ShapeOf& shapeOf) {
  auto keysOf = [&](ValueId k) { return wholeShape(program, k)[1]; };
  switch (op.kind) {
  case OpKind::Linear:
  case OpKind::LinearDgrad:
  case OpKind::LinearWgrad:
    return 2 * std::sqrt(elements(shapeOf(op.operands[0])) *
                         elements(shapeOf(op.operands[1])) *
                         elements(shapeOf(op.results[0])));
  case OpKind::ExpertLinear:
  case OpKind::ExpertLinearDgrad:
  case OpKind::ExpertLinearWgrad:
    return expertLinear(op, shapeOf);
  case OpKind::Attention:
  case OpKind::RingAttention:
    return attention(shapeOf(op.operands[0]), keysOf(op.operands[1]),
                     isCausal(op));
  case OpKind::AttentionBackward:
  case OpKind::RingAttentionBackward:
    return 2 * attention(shapeOf(op.operands[2]), keysOf(op.operands[3]),
                         isCausal(op));
  case OpKind::AttentionCached:
    return cachedAttention(shapeOf(op.operands[0]), shapeOf(op.results[1]));
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
