// Embeddings and matmuls; see Interpreter.h.

#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/Interpreter.h"

#include <cmath>

namespace recipec::test {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

void Interpreter::embedding(const Op& op, int rank) {
  const Array &tokens = at(rank, op.operands[0]),
              &table = at(rank, op.operands[1]);
  Shape rows = shape(op.operands[1]);
  int64_t first =
      coordinate(rank, program[op.operands[1]].sharding.dims[0]) * rows[0];
  Array& y = at(rank, op.results[0]);
  for (size_t t = 0; t < tokens.size(); ++t)
    for (int64_t j = 0; j < rows[1]; ++j) {
      int64_t row = int64_t(tokens[t]) - first;
      y[t * size_t(rows[1]) + size_t(j)] =
          row >= 0 && row < rows[0] ? table[size_t(row * rows[1] + j)] : 0;
    }
}

void Interpreter::embeddingBackward(const Op& op, int rank) {
  const Array &tokens = at(rank, op.operands[0]),
              &dy = at(rank, op.operands[1]);
  Shape rows = shape(op.results[0]);
  int64_t first =
      coordinate(rank, program[op.results[0]].sharding.dims[0]) * rows[0];
  Array& dtable = at(rank, op.results[0]);
  for (size_t t = 0; t < tokens.size(); ++t) {
    int64_t row = int64_t(tokens[t]) - first;
    for (int64_t j = 0; row >= 0 && row < rows[0] && j < rows[1]; ++j)
      dtable[size_t(row * rows[1] + j)] += dy[t * size_t(rows[1]) + size_t(j)];
  }
}

void Interpreter::linear(const Op& op, int rank) {
  const Array &x = at(rank, op.operands[0]), &w = at(rank, op.operands[1]);
  Array& y = at(rank, op.results[0]);
  // m k = |x|, n k = |w|, m n = |y|
  size_t k = size_t(std::lround(
      std::sqrt(double(x.size()) * double(w.size()) / double(y.size()))));
  size_t m = x.size() / k, n = w.size() / k;
  double alpha = real(op, "alpha", 1), keep = real(op, "accumulate", 0);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < k; ++l)
        sum += x[i * k + l] * w[j * k + l];
      y[i * n + j] = keep * y[i * n + j] + alpha * sum;
    }
}

void Interpreter::linearAdd(const Op& op, int rank) {
  Op added = op;
  added.kind = OpKind::Linear;
  added.operands.pop_back();
  added.attributes["accumulate"] = true;
  at(rank, op.results[0]) = Array(at(rank, op.operands[2]));
  linear(added, rank);
}

/// Executes a joint op matmul by matmul.
void Interpreter::jointly(const Op& op, int rank) {
  bool isLater = false;
  for (size_t i = 0; i < 3; ++i) {
    Op part = op;
    if (op.kind == OpKind::LinearJointDgrad) {
      part.operands = {op.operands[i], op.operands[3 + i]};
    } else {
      part.operands = {op.operands[0], op.operands[1 + i]};
      part.results = {op.results[i]};
    }
    if (part.operands[0] == ValueId::none || part.operands[1] == ValueId::none)
      continue;
    if (op.kind == OpKind::LinearJoint)
      linear(part, rank);
    else if (op.kind == OpKind::LinearJointWgrad)
      linearWgrad(part, rank);
    else {
      if (isLater)
        part.attributes["accumulate"] = true;
      linearDgrad(part, rank);
    }
    isLater = true;
  }
}

void Interpreter::linearDgrad(const Op& op, int rank) {
  const Array &dy = at(rank, op.operands[0]), &w = at(rank, op.operands[1]);
  Array& dx = at(rank, op.results[0]);
  size_t k = size_t(std::lround(
      std::sqrt(double(dx.size()) * double(w.size()) / double(dy.size()))));
  size_t m = dx.size() / k, n = w.size() / k;
  double alpha = real(op, "alpha", 1), keep = real(op, "accumulate", 0);
  for (size_t i = 0; i < m; ++i)
    for (size_t l = 0; l < k; ++l) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j)
        sum += dy[i * n + j] * w[j * k + l];
      dx[i * k + l] = keep * dx[i * k + l] + alpha * sum;
    }
}

void Interpreter::linearWgrad(const Op& op, int rank) {
  const Array &x = at(rank, op.operands[0]), &dy = at(rank, op.operands[1]);
  Array& dw = at(rank, op.results[0]);
  size_t k = size_t(std::lround(
      std::sqrt(double(x.size()) * double(dw.size()) / double(dy.size()))));
  size_t m = x.size() / k, n = dw.size() / k;
  double alpha = real(op, "alpha", 1);
  for (size_t j = 0; j < n; ++j)
    for (size_t l = 0; l < k; ++l)
      for (size_t i = 0; i < m; ++i)
        dw[j * k + l] += alpha * dy[i * n + j] * x[i * k + l];
}

} // namespace recipec::test
