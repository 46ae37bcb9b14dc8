// The threads of a process that computes on a CPU: how many there are, and how
// they wait for one another.
//
// Kernels and oneDNN run on OpenMP's threads. GCC's library has one that waits
// look for work without a pause, for milliseconds: beside any other program the
// threads then keep one another from the cores, and a step takes up to a
// hundred times as long. How long they look is read from the environment before
// main() begins, and can be set in no other way.

#ifndef RECIPERUN_DEVICE_CPU_THREADS_H
#define RECIPERUN_DEVICE_CPU_THREADS_H

#include "runtime/base/Status.h"

#include <sched.h>

namespace reciperun::device {

/// Has threads that wait sleep after some microseconds: sets that in the
/// environment and starts this program anew, by `arguments`, those of main(),
/// where the environment says nothing about it. Called first of all; returns in
/// the process for which it is set, or with the reason why it cannot be.
Status letWaitingThreadsSleep(char** arguments);

/// The cores that this process may run on, at least one.
cpu_set_t coreMask();

/// Threads for this process, whose cores `sharing` processes have together:
/// `OMP_NUM_THREADS`, its first number where it has several, or where it is not
/// set an equal share of the cores, at least 1.
Expected<int> threadsOfProcess(int sharing);

/// Starts the threads that kernels run on, the calling one being the first, or
/// says that the system does not grant so many: OpenMP would end the process.
Status startThreads(int threads);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_THREADS_H
