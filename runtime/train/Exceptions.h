// What is thrown and caught nowhere else ends here, in our own words.
//
// Folders keep the exceptions of their libraries to themselves; what is left is
// memory that ran out in a container or a string, a thread that the system did
// not grant, a file that went away meanwhile.

#ifndef RECIPERUN_TRAIN_EXCEPTIONS_H
#define RECIPERUN_TRAIN_EXCEPTIONS_H

#include "runtime/base/Status.h"

namespace reciperun::train {

/// The exception that is being handled, as a message.
Status statusOfException();

/// From now on an exception that leaves a thread, or a loop over threads, ends
/// the process with its message and exit code 1. Those of the first thread are
/// caught at the program's edge (runCommand), where ranks can be told.
void reportExceptionsOfThreads();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_EXCEPTIONS_H
