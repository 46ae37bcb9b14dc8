// MPI's return codes as Status, agreement on one, and the ranks of a host.

#ifndef RECIPERUN_COMM_MPICHECK_H
#define RECIPERUN_COMM_MPICHECK_H

#include "runtime/base/Status.h"
#include "runtime/comm/Watch.h"

#include <mpi.h>

#include <cstddef>
#include <span>

namespace reciperun::comm {

/// Ok, or "`MPI_Call` failed on rank N: what MPI says of the code".
Status checkMpi(int code, const char* call, int rank);

/// What Communicator::agree promises, over MPI_COMM_WORLD. `watch` may be null.
Status agreeOnWorld(const Status& mine, int rank, int ranks, Watch* watch);

/// Gives the bytes of the rank numbered `root` there to all of `ranks`.
Status broadcast(std::span<std::byte> bytes, int root, MPI_Comm ranks,
                 int rank);

/// A communicator of the ranks of this host, which the caller frees.
/// Collective.
Expected<MPI_Comm> splitHost(int rank);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPICHECK_H
