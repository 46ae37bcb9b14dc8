// Ranks as threads of the test process, for collectives without MPI.

#ifndef RECIPEC_TEST_RUNTIME_CHECKPOINT_THREADRANKS_H
#define RECIPEC_TEST_RUNTIME_CHECKPOINT_THREADRANKS_H

#include "runtime/comm/Communicator.h"

#include <functional>

namespace reciperun::checkpoint {

/// Runs `body` once per rank, each on its own thread with a communicator that
/// can send, receive and agree. The other collectives fail.
void runRanks(int ranks, const std::function<void(comm::Communicator&)>& body);

} // namespace reciperun::checkpoint

#endif // RECIPEC_TEST_RUNTIME_CHECKPOINT_THREADRANKS_H
