// Turns SIGTERM and SIGINT into a flag that the run polls between two steps,
// and that long operations before the first step poll as well.

#ifndef RECIPERUN_BASE_STOPSIGNAL_H
#define RECIPERUN_BASE_STOPSIGNAL_H

#include "runtime/base/Status.h"

namespace reciperun {

/// From now on SIGTERM, SIGINT and SIGUSR1 set the flag instead of ending the
/// process. mpirun forwards SIGUSR1 to its ranks and, unlike after a SIGTERM,
/// gives them the time to finish their step; `recipec run` uses this.
void watchStopSignals();

/// Restores the default: these signals end the process again.
void releaseStopSignals();

/// The number of the last of these signals; 0 when none has arrived.
int stopSignal();

/// Fails once one of these signals has arrived. Long loops call it.
Status checkStopSignal();

} // namespace reciperun

#endif // RECIPERUN_BASE_STOPSIGNAL_H
