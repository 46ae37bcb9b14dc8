// Adds the function `evaluate` to a Program: `forward` without dropout.

#ifndef RECIPEC_PASSES_INFERENCE_EVALUATE_H
#define RECIPEC_PASSES_INFERENCE_EVALUATE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// `evaluate` reads the inputs and parameters of `forward` and adds to the same
/// loss. All other values are temporaries of its own.
void addEvaluate(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_EVALUATE_H
