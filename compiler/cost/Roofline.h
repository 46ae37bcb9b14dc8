// The roofline model (Williams et al. 2009) over the figures of data sheets.
//
// An op takes the longer of its FLOPs at the device's peak and its traffic at
// the memory bandwidth. A collective takes the time of a ring over the link.
// Real kernels stay below the roof, so the times are lower bounds.

#ifndef RECIPEC_COST_ROOFLINE_H
#define RECIPEC_COST_ROOFLINE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <functional>
#include <vector>

namespace recipec::cost {

/// Returns a function that gives the least seconds of a single op. The function
/// refers to `program`, which must outlive it.
std::function<double(const ir::Op&)> opSeconds(const ir::Module& program,
                                               const recipe::Recipe& recipe);

/// The least seconds of a step: the simulated schedule `train` of all stages,
/// whose ops run one after another. Transfers between stages, collectives with
/// a start and a done op, and copies to and from the host overlap them. 0
/// without the schedule.
double leastStepSeconds(const std::vector<ir::Module>& stages,
                        const recipe::Recipe& recipe);

} // namespace recipec::cost

#endif // RECIPEC_COST_ROOFLINE_H
