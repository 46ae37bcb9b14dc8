// The schedule pass: the order in which a step's functions run.

#ifndef RECIPEC_PASSES_SCHEDULE_SCHEDULE_H
#define RECIPEC_PASSES_SCHEDULE_SCHEDULE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <vector>

namespace recipec::passes {

/// Adds to each stage's Program the schedule `train` (one optimizer step) and,
/// if the Program has the function, `evaluate`: one micro-batch per rank. The
/// runtime repeats `evaluate` over the validation data and sums the losses on
/// the host. Gives values that outlive their function one slot per micro-batch
/// in flight, and transfers their links.
void addSchedules(std::vector<ir::Module>& stages,
                  const recipe::Recipe& recipe);

/// Adds to each stage's Program the schedule of each of its functions, which
/// are those of serving steps: load the inputs, receive from the stage before,
/// run, send to the next one. Gives transfers their links.
void addStepSchedules(std::vector<ir::Module>& stages);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_SCHEDULE_H
