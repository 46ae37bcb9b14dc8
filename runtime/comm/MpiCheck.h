// MPI return codes as Status, agreement on a Status, broadcasts, and the ranks
// of a host.

#ifndef RECIPERUN_COMM_MPICHECK_H
#define RECIPERUN_COMM_MPICHECK_H

#include "runtime/base/Status.h"
#include "runtime/comm/Watch.h"

#include <mpi.h>

#include <cstddef>
#include <span>

namespace reciperun::comm {

/// Ok, or "`MPI_Call` failed on rank N: the text of MPI_Error_string".
Status checkMpi(int code, const char* call, int rank);

/// Communicator::agree over MPI_COMM_WORLD. `watch` may be null.
Status agreeOnWorld(const Status& mine, int rank, int ranks, Watch* watch);

/// Sends the bytes of rank `root` of the communicator to all its other ranks.
Status broadcast(std::span<std::byte> bytes, int root, MPI_Comm ranks,
                 int rank);

/// A communicator of the ranks of this host, which the caller frees.
/// Collective.
Expected<MPI_Comm> splitHost(int rank);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPICHECK_H
