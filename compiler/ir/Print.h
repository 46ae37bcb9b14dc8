// Graph and Program as text, for `--emit` and for tests.
//
//   %layers.0.q = linear %layers.0.input_norm, @layers.0.q.weight
//       : bf16[batch/dp, sequence, heads/tp, head_dim]
//
// `@` marks parameters, `/tp` a dimension that is split along an axis, `+tp`
// after a type a partial sum over it, `_` an absent optional operand. The text
// holds everything except source ranges: printing, parsing and printing again
// gives the same text.

#ifndef RECIPEC_IR_PRINT_H
#define RECIPEC_IR_PRINT_H

#include "compiler/ir/Ir.h"

namespace recipec::ir {

std::string print(const Module& module);
/// One op as a line of the text, without the newline; for messages.
std::string print(const Module& module, const Op& op);
/// `bf16[batch/dp, sequence, hidden] +tp`.
std::string printType(const Module& module, ValueId value);

} // namespace recipec::ir

#endif // RECIPEC_IR_PRINT_H
