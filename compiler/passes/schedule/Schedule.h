// The schedule pass: the order in which a step's functions run.

#ifndef RECIPEC_PASSES_SCHEDULE_SCHEDULE_H
#define RECIPEC_PASSES_SCHEDULE_SCHEDULE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <vector>

namespace recipec::passes {

/// Adds to the Program of each stage the schedule `train` (one optimizer step)
/// and, where it has the function, `evaluate`: one micro-batch a rank. The
/// runtime repeats `evaluate` over the validation data and adds up the losses
/// on the host. Gives the values that outlive their function as many slots as
/// micro-batches are in flight, and
/// transfers their lines.
void addSchedules(std::vector<ir::Module>& stages,
                  const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_SCHEDULE_H
