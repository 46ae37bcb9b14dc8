// Norms, biases and position-dependent ops; see Interpreter.h.

#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/Interpreter.h"

#include <cmath>

namespace recipec::test {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

void Interpreter::bias(const Op& op, int rank) {
  bool isBackward = op.kind == OpKind::BiasBackward;
  const Array& x = at(rank, op.operands[0]);
  Array& y = at(rank, op.results[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    if (isBackward) {
      y[i % y.size()] += x[i];
      continue;
    }
    const Array& b = at(rank, op.operands[1]);
    y[i] = x[i] + b[i % b.size()];
  }
}

/// The weight of a norm at an element of its operand; 1 without a weight.
double Interpreter::weightOf(const Op& op, int rank, size_t operand,
                             size_t element) {
  ValueId w = op.operands[operand];
  if (w == ValueId::none)
    return 1;
  const Array& weight = at(rank, w);
  return weight[element % weight.size()] + real(op, "centered", 0);
}

/// rmsnorm is layernorm with mean 0.
void Interpreter::norm(const Op& op, int rank) {
  const Array& x = at(rank, op.operands[0]);
  Array &y = at(rank, op.results[0]), &rstd = at(rank, op.results.back());
  size_t h = size_t(shape(op.operands[0]).back());
  for (size_t i = 0; i < x.size() / h; ++i) {
    double mean = 0, sum = 0;
    if (op.kind == OpKind::LayerNorm) {
      for (size_t j = 0; j < h; ++j)
        mean += x[i * h + j] / double(h);
      at(rank, op.results[1])[i] = mean;
    }
    for (size_t j = 0; j < h; ++j)
      sum += (x[i * h + j] - mean) * (x[i * h + j] - mean);
    rstd[i] = 1 / std::sqrt(sum / double(h) + real(op, "eps", 0));
    for (size_t j = 0; j < h; ++j)
      y[i * h + j] =
          (x[i * h + j] - mean) * rstd[i] * weightOf(op, rank, 1, i * h + j);
  }
}

void Interpreter::normBackward(const Op& op, int rank) {
  const Array &dy = at(rank, op.operands[0]), &x = at(rank, op.operands[1]),
              &rstd = at(rank, op.operands.back());
  bool isCentred = op.kind == OpKind::LayerNormBackward;
  Array dx =
      real(op, "accumulate", 0) ? at(rank, op.results[0]) : Array(x.size());
  size_t h = size_t(shape(op.operands[1]).back());
  for (size_t i = 0; i < x.size() / h; ++i) {
    double mean = isCentred ? at(rank, op.operands[3])[i] : 0;
    auto normal = [&](size_t j) { return (x[i * h + j] - mean) * rstd[i]; };
    double dot = 0, sum = 0;
    for (size_t j = 0; j < h; ++j) {
      double pull = dy[i * h + j] * weightOf(op, rank, 2, i * h + j);
      dot += pull * normal(j);
      sum += isCentred ? pull : 0;
    }
    for (size_t j = 0; j < h; ++j) {
      if (op.results[1] != ValueId::none) {
        Array& dw = at(rank, op.results[1]);
        dw[(i * h + j) % dw.size()] += dy[i * h + j] * normal(j);
      }
      dx[i * h + j] +=
          rstd[i] * (dy[i * h + j] * weightOf(op, rank, 2, i * h + j) -
                     (normal(j) * dot + sum) / double(h));
    }
  }
  at(rank, op.results[0]) = std::move(dx);
}

void Interpreter::rope(const Op& op, int rank) {
  const Array &x = at(rank, op.operands[0]),
              &positions = at(rank, op.operands[1]);
  Array& y = at(rank, op.results[0]);
  Shape sizes = shape(op.operands[0]);
  size_t d = size_t(sizes[3]);
  size_t rotated = size_t(real(op, "rotated", double(d))), half = rotated / 2;
  bool isInterleaved = real(op, "interleaved", 0) != 0;
  double sign = real(op, "inverse", 0) ? -1 : 1;
  y = x;
  for (size_t i = 0; i < x.size() / d; ++i)
    for (size_t j = 0; j < half; ++j) {
      double angle = sign * positions[i / size_t(sizes[2])] *
                     std::pow(real(op, "theta", 0), -double(j) / double(half));
      size_t first = i * d + (isInterleaved ? 2 * j : j),
             second = first + (isInterleaved ? 1 : half);
      double a = x[first], b = x[second];
      y[first] = a * std::cos(angle) - b * std::sin(angle);
      y[second] = b * std::cos(angle) + a * std::sin(angle);
    }
}

void Interpreter::positionScale(const Op& op, int rank) {
  const Array &x = at(rank, op.operands[0]),
              &positions = at(rank, op.operands[1]);
  Array& y = at(rank, op.results[0]);
  size_t width = x.size() / positions.size();
  for (size_t i = 0; i < x.size(); ++i) {
    double steps =
        std::floor((positions[i / width] + 1) / real(op, "floor", 0));
    y[i] = x[i] * (1 + real(op, "scale", 0) * std::log(steps + 1));
  }
}

} // namespace recipec::test
