// Start, end and abort of an MPI job.

#include "runtime/comm/MpiSession.h"

#include "runtime/comm/MpiCheck.h"
#include "runtime/comm/MpiCommunicator.h"

#include <cstdlib>
#include <utility>

namespace reciperun::comm {
namespace {

/// The number of ranks on this rank's host.
Status countHostRanks(int rank, int& count) {
  MPI_Comm host = MPI_COMM_NULL;
  RECIPERUN_TRY(
      checkMpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                                   MPI_INFO_NULL, &host),
               "MPI_Comm_split_type", rank));
  RECIPERUN_TRY(checkMpi(MPI_Comm_size(host, &count), "MPI_Comm_size", rank));
  return checkMpi(MPI_Comm_free(&host), "MPI_Comm_free", rank);
}

} // namespace

Expected<MpiSession> MpiSession::start() {
  MpiSession session;
  int granted = 0;
  // Kernels have threads, collectives are called from the first one alone.
  int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted);
  if (code != MPI_SUCCESS) {
    session.active = false;
    return Status::error("MPI cannot be started (code " + std::to_string(code) +
                         ")");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  RECIPERUN_TRY(checkMpi(MPI_Comm_rank(MPI_COMM_WORLD, &session.ownRank),
                         "MPI_Comm_rank", 0));
  RECIPERUN_TRY(checkMpi(MPI_Comm_size(MPI_COMM_WORLD, &session.allRanks),
                         "MPI_Comm_size", session.ownRank));
  RECIPERUN_TRY(countHostRanks(session.ownRank, session.hostRanks));
  return session;
}

MpiSession::MpiSession(MpiSession&& other) noexcept
    : active(std::exchange(other.active, false)), ownRank(other.ownRank),
      allRanks(other.allRanks), hostRanks(other.hostRanks) {}

MpiSession::~MpiSession() {
  if (active)
    MPI_Finalize();
}

void MpiSession::abort(int exitCode) {
  MPI_Abort(MPI_COMM_WORLD, exitCode);
  std::abort(); // MPI_Abort does not return
}

Expected<std::unique_ptr<Communicator>>
MpiSession::connect(const plan::Mesh& mesh) {
  return MpiCommunicator::make(mesh, ownRank, allRanks);
}

} // namespace reciperun::comm
