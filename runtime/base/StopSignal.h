// SIGTERM and SIGINT as a question that is asked between two steps, and now and
// then by what takes long before the first one.

#ifndef RECIPERUN_BASE_STOPSIGNAL_H
#define RECIPERUN_BASE_STOPSIGNAL_H

#include "runtime/base/Status.h"

namespace reciperun {

/// From now on SIGTERM, SIGINT and SIGUSR1 are noted instead of ending the
/// process. mpirun passes SIGUSR1 on to its ranks and, unlike after a SIGTERM,
/// leaves them the time that their step takes; `recipec run` makes use of that.
void watchStopSignals();

/// From now on they end the process again.
void releaseStopSignals();

/// The number of the last such signal, 0 where none has come.
int stopSignal();

/// Fails once such a signal has come: for a loop that would take long.
Status checkStopSignal();

} // namespace reciperun

#endif // RECIPERUN_BASE_STOPSIGNAL_H
