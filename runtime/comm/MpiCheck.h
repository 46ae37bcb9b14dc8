// MPI's return codes as Status.

#ifndef RECIPERUN_COMM_MPICHECK_H
#define RECIPERUN_COMM_MPICHECK_H

#include "runtime/plan/Status.h"

namespace reciperun::comm {

/// Ok, or "`MPI_Call` failed on rank N: what MPI says of the code".
Status checkMpi(int code, const char* call, int rank);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPICHECK_H
