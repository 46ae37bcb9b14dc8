// The threads of a process that computes on a CPU: their number, and how they
// wait for one another.
//
// Kernels and oneDNN run on OpenMP threads. A waiting thread of GCC's OpenMP
// library spins for milliseconds. When another program uses the cores, the
// spinning threads then keep one another from running, and a step takes up to a
// hundred times as long. The library reads the spin count from the environment
// before main() begins, and offers no other way to set it.

#ifndef RECIPERUN_DEVICE_CPU_THREADS_H
#define RECIPERUN_DEVICE_CPU_THREADS_H

#include "runtime/base/Status.h"

#include <sched.h>

namespace reciperun::device {

/// Makes waiting threads sleep after some microseconds. Sets this in the
/// environment and restarts the program with `arguments`, those of main(),
/// unless the environment already configures waiting. Must be the first call of
/// main(). Returns ok in the process whose environment is set, or the reason
/// why it cannot be set.
Status letWaitingThreadsSleep(char** arguments);

/// The cores that this process may run on, at least one.
cpu_set_t coreMask();

/// The number of threads of this process when `sharing` processes share its
/// cores: the first number of `OMP_NUM_THREADS`, or an equal share of the cores
/// when it is not set, at least 1.
Expected<int> threadsOfProcess(int sharing);

/// Starts the kernels' threads; the calling thread is the first. Fails when the
/// system does not grant that many: OpenMP would end the process.
Status startThreads(int threads);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_THREADS_H
