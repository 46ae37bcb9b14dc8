// The schedule pass: the order in which a step's functions run.

#ifndef RECIPEC_PASSES_SCHEDULE_H
#define RECIPEC_PASSES_SCHEDULE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>

namespace recipec::passes {

/// Adds the schedule `train` (one optimizer step) and, where the Program has
/// the function, `evaluate`: one micro-batch a rank. The runtime repeats
/// `evaluate` over the validation data and adds up the losses on the host.
void addSchedules(ir::Module& program, const recipe::Recipe& recipe);

/// A picture of every schedule for `--emit=schedule`, then its steps.
std::string drawSchedules(const ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_H
