// Slices and concatenations of rows, element by element.

#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/Interpreter.h"

namespace recipec::test {

using ir::Op;
using ir::OpKind;

void Interpreter::parts(const Op& op, int rank) {
  const Array& x = at(rank, op.operands[0]);
  Array& y = at(rank, op.results[0]);
  size_t from = size_t(shape(op.operands[0]).back()),
         to = size_t(shape(op.results[0]).back());
  size_t begin = size_t(real(op, "begin", 0));
  if (op.kind == OpKind::Narrow || op.kind == OpKind::Pad) {
    // Rows of the sliced dimension and those behind it.
    const bool isNarrow = op.kind == OpKind::Narrow;
    const auto wide = shape(isNarrow ? op.operands[0] : op.results[0]);
    const size_t behind = size_t(real(op, "behind", 0));
    size_t element = 1, rows = 1;
    for (size_t i = 0; i < wide.size(); ++i)
      (i + behind < wide.size() ? rows : element) *= size_t(wide[i]);
    rows /= size_t(wide[wide.size() - 1 - behind]);
    begin *= element;
    from = x.size() / rows;
    to = y.size() / rows;
  }
  for (size_t i = 0; i < y.size(); ++i) {
    size_t row = i / to, column = i % to;
    if (op.kind == OpKind::Narrow)
      y[i] = x[row * from + begin + column];
    else if (op.kind == OpKind::Pad)
      y[i] = column >= begin && column < begin + from
                 ? x[row * from + column - begin]
                 : 0;
    else if (op.kind == OpKind::Concat)
      y[i] = column < from
                 ? x[row * from + column]
                 : at(rank, op.operands[1])[row * (to - from) + column - from];
    else if (op.kind == OpKind::Broadcast)
      y[i] = x[row / (y.size() / x.size()) * to + column];
    else
      y[i] = 0;
  }
  if (op.kind == OpKind::BroadcastBackward)
    for (size_t i = 0; i < x.size(); ++i)
      y[i / to / (x.size() / y.size()) * to + i % to] += x[i];
}

} // namespace recipec::test
