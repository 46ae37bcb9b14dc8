// SIGTERM and SIGINT as a question that the loop asks between two steps.

#ifndef RECIPERUN_TRAIN_STOPSIGNAL_H
#define RECIPERUN_TRAIN_STOPSIGNAL_H

namespace reciperun::train {

/// From now on SIGTERM, SIGINT and SIGUSR1 are noted instead of ending the
/// process. mpirun passes SIGUSR1 on to its ranks and, unlike after a SIGTERM,
/// leaves them the time that their step takes; `recipec run` makes use of that.
void watchStopSignals();

/// From now on they end the process again.
void releaseStopSignals();

/// The number of the last such signal, 0 where none has come.
int stopSignal();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_STOPSIGNAL_H
