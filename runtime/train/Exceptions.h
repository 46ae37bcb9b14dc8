// Turns exceptions that nothing else catches into messages.
//
// Folders catch the exceptions of their own libraries. The remaining ones are
// rare: memory ran out in a container or a string, the system refused to start
// a thread, a file disappeared meanwhile.

#ifndef RECIPERUN_TRAIN_EXCEPTIONS_H
#define RECIPERUN_TRAIN_EXCEPTIONS_H

#include "runtime/base/Status.h"

namespace reciperun::train {

/// A message for the exception that is being handled.
Status statusOfException();

/// From now on an exception that escapes from a thread, or from a parallel
/// loop, ends the process with its message and exit code 1. runCommand catches
/// the exceptions of the main thread, where the other ranks can be told.
void reportExceptionsOfThreads();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_EXCEPTIONS_H
