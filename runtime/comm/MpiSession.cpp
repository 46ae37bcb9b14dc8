// Start, end and abort of an MPI job.

#include "runtime/comm/MpiSession.h"

#include "runtime/comm/GroupName.h"
#include "runtime/comm/MpiCheck.h"
#include "runtime/comm/MpiCommunicator.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace reciperun::comm {
namespace {

constexpr Awaited countOfHost = {
    "a count of this host's ranks", {}, "all ranks"};

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
  const auto limit = Watch::limitOfEnvironment();
  session.read = limit.status();
  if (session.allRanks > 1)
    session.watch =
        std::make_unique<Watch>(session.ownRank, limit ? *limit : std::nullopt);
  return session;
}

MpiSession::MpiSession(MpiSession&& other) noexcept
    : active(std::exchange(other.active, false)), ownRank(other.ownRank),
      allRanks(other.allRanks), read(std::move(other.read)),
      watch(std::move(other.watch)) {}

MpiSession::~MpiSession() {
  if (!active)
    return;
  const std::string all = nameOfAll(allRanks);
  const Watch::Wait wait(watch.get(), {"the end of the job", {}, all});
  MPI_Finalize();
}

Expected<int> MpiSession::placeOnHost() const {
  const Watch::Wait wait(watch.get(), countOfHost);
  Expected<MPI_Comm> host = splitHost(ownRank);
  RECIPERUN_TRY(host);
  int number = 0;
  RECIPERUN_TRY(
      checkMpi(MPI_Comm_rank(*host, &number), "MPI_Comm_rank", ownRank));
  RECIPERUN_TRY(checkMpi(MPI_Comm_free(&*host), "MPI_Comm_free", ownRank));
  return number;
}

Expected<int> MpiSession::countOnHost(std::span<const std::byte> bytes) const {
  const Watch::Wait wait(watch.get(), countOfHost);
  Expected<MPI_Comm> host = splitHost(ownRank);
  RECIPERUN_TRY(host);
  int ranksOnHost = 0;
  RECIPERUN_TRY(
      checkMpi(MPI_Comm_size(*host, &ranksOnHost), "MPI_Comm_size", ownRank));
  std::vector<std::byte> all(bytes.size() * size_t(ranksOnHost));
  int length = int(bytes.size());
  RECIPERUN_TRY(checkMpi(MPI_Allgather(bytes.data(), length, MPI_BYTE,
                                       all.data(), length, MPI_BYTE, *host),
                         "MPI_Allgather", ownRank));
  RECIPERUN_TRY(checkMpi(MPI_Comm_free(&*host), "MPI_Comm_free", ownRank));
  int same = 0;
  for (size_t at = 0; at < all.size(); at += bytes.size())
    same += std::equal(bytes.begin(), bytes.end(), all.begin() + ptrdiff_t(at));
  return same;
}

Status MpiSession::agree(const Status& mine) const {
  return agreeOnWorld(mine, ownRank, allRanks, watch.get());
}

void MpiSession::abort(int exitCode) {
  MPI_Abort(MPI_COMM_WORLD, exitCode);
  std::abort(); // MPI_Abort does not return
}

Expected<std::unique_ptr<Communicator>>
MpiSession::connect(const plan::Mesh& mesh) {
  return MpiCommunicator::make(mesh, ownRank, allRanks, watch.get());
}

} // namespace reciperun::comm
