// Functions of their own for the first, the last and the other runs.

#ifndef RECIPEC_PASSES_SCHEDULE_SPLITRUNS_H
#define RECIPEC_PASSES_SCHEDULE_SPLITRUNS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Replaces each function that has ops with the attribute `when` by a function
/// for each kind of its runs (`backward_first`, `backward`, `backward_last`),
/// and has the schedules run those. No op has the attribute afterwards. The
/// functions use the same values, so that memory is planned before.
void splitRuns(ir::Module& stage);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_SPLITRUNS_H
