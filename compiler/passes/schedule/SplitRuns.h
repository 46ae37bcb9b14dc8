// Gives the first, the last and the other runs of a function their own
// functions.

#ifndef RECIPEC_PASSES_SCHEDULE_SPLITRUNS_H
#define RECIPEC_PASSES_SCHEDULE_SPLITRUNS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Replaces each function that has ops with the attribute `when` by one
/// function for each kind of run (`backward_first`, `backward`,
/// `backward_last`), and makes the schedules run those. No op has the attribute
/// afterwards. The new functions use the same values, so memory can be planned
/// before this pass.
void splitRuns(ir::Module& stage);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_SPLITRUNS_H
