// Start, end and abort of an MPI job.

#include "runtime/comm/MpiSession.h"

#include "runtime/comm/GroupName.h"
#include "runtime/comm/MpiCheck.h"
#include "runtime/comm/MpiCommunicator.h"
#include "runtime/comm/MpiWait.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reciperun::comm {
namespace {

constexpr Awaited countOfHost = {
    "a count of this host's ranks", {}, "all ranks"};
/// No link of a plan has these tags (MpiCommunicator::begin). MPI grants tags
/// up to 32767.
constexpr int announcementTag = 32767, messageTag = 32766;
/// MPI counts bytes in int.
constexpr size_t mostBytes = size_t(1) << 30;
constexpr Awaited comparison = {"a comparison", {}, "all ranks"};

/// Concatenates the bytes of `members` ranks in rank order. All pass the same
/// number of bytes.
Expected<std::vector<std::byte>> gather(std::span<const std::byte> bytes,
                                        MPI_Comm ranks, int members, int rank) {
  std::vector<std::byte> all(bytes.size() * size_t(members));
  const int length = int(bytes.size());
  MPI_Request request = MPI_REQUEST_NULL;
  RECIPERUN_TRY(
      finishMpi(MPI_Iallgather(bytes.data(), length, MPI_BYTE, all.data(),
                               length, MPI_BYTE, ranks, &request),
                request, "MPI_Iallgather", rank));
  return all;
}

/// The other ranks of a host; `place` is this one's index among them.
Expected<std::vector<HostRank>> otherRanksOf(MPI_Comm host, int place,
                                             int rank) {
  int members = 0;
  RECIPERUN_TRY(checkMpi(MPI_Comm_size(host, &members), "MPI_Comm_size", rank));
  const HostRank own = {rank, int(getpid())};
  const auto all =
      gather(std::as_bytes(std::span(&own, 1)), host, members, rank);
  RECIPERUN_TRY(all);
  std::vector<HostRank> others(static_cast<size_t>(members));
  std::memcpy(others.data(), all->data(), all->size());
  others.erase(others.begin() + place);
  return others;
}

} // namespace

Expected<MpiSession> MpiSession::start() {
  MpiSession session;
  int granted = 0;
  // Kernels have threads, but only the first thread calls collectives.
  int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted);
  if (code != MPI_SUCCESS) {
    session.active = false;
    return Status::error("MPI cannot be started (code " + std::to_string(code) +
                         ")");
  }
  wakeOnTime();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  RECIPERUN_TRY(checkMpi(MPI_Comm_rank(MPI_COMM_WORLD, &session.ownRank),
                         "MPI_Comm_rank", 0));
  RECIPERUN_TRY(checkMpi(MPI_Comm_size(MPI_COMM_WORLD, &session.allRanks),
                         "MPI_Comm_size", session.ownRank));
  const auto limit = Watch::limitOfEnvironment();
  session.read = limit.status();
  if (session.allRanks == 1)
    return session;
  try {
    session.watch =
        std::make_unique<Watch>(session.ownRank, limit ? *limit : std::nullopt);
  } catch (const std::system_error& failure) {
    session.read = Status::error(std::string("cannot start a thread that "
                                             "watches over waits: ") +
                                 failure.what());
  }
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
  // A failure at this point cannot be reported to anyone.
  static_cast<void>(meetOn(MPI_COMM_WORLD, ownRank));
  MPI_Finalize();
}

Expected<int> MpiSession::placeOnHost() const {
  const Watch::Wait wait(watch.get(), countOfHost);
  Expected<MPI_Comm> host = splitHost(ownRank);
  RECIPERUN_TRY(host);
  int number = 0;
  RECIPERUN_TRY(
      checkMpi(MPI_Comm_rank(*host, &number), "MPI_Comm_rank", ownRank));
  if (watch) {
    auto others = otherRanksOf(*host, number, ownRank);
    RECIPERUN_TRY(others);
    watch->know(*std::move(others));
  }
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
  auto all = gather(bytes, *host, ranksOnHost, ownRank);
  RECIPERUN_TRY(all);
  RECIPERUN_TRY(checkMpi(MPI_Comm_free(&*host), "MPI_Comm_free", ownRank));
  int same = 0;
  for (auto at = all->begin(); at != all->end(); at += ptrdiff_t(bytes.size()))
    same += std::equal(bytes.begin(), bytes.end(), at);
  return same;
}

Expected<std::vector<int>>
MpiSession::ranksUnlikeFirst(std::span<const std::byte> bytes) const {
  const Watch::Wait wait(watch.get(), comparison);
  auto all = gather(bytes, MPI_COMM_WORLD, allRanks, ownRank);
  RECIPERUN_TRY(all);
  const auto first = std::span(*all).first(bytes.size());
  std::vector<int> unlike;
  for (int rank = 1; rank < allRanks; ++rank) {
    const auto other =
        std::span(*all).subspan(size_t(rank) * bytes.size(), bytes.size());
    if (!std::ranges::equal(first, other))
      unlike.push_back(rank);
  }
  return unlike;
}

Status MpiSession::agree(const Status& mine) const {
  return agreeOnWorld(mine, ownRank, allRanks, watch.get());
}

bool MpiSession::isOneOfSeveral() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = std::getenv(name))
      return std::atoi(size) > 1;
  return false;
}

Status MpiSession::announce(std::span<const std::byte> bytes) const {
  const Watch::Wait wait(watch.get(), {"an announcement", {}, "all ranks"});
  std::vector<MPI_Request> requests(size_t(allRanks), MPI_REQUEST_NULL);
  for (int to = 0; to < allRanks; ++to)
    if (to != ownRank)
      RECIPERUN_TRY(checkMpi(MPI_Isend(bytes.data(), int(bytes.size()),
                                       MPI_BYTE, to, announcementTag,
                                       MPI_COMM_WORLD, &requests[size_t(to)]),
                             "MPI_Isend", ownRank));
  return finishMpi(requests, "MPI_Isend", ownRank);
}

Expected<std::vector<std::byte>> MpiSession::announcement() const {
  int isThere = 0, bytes = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  for (Patience patience; !isThere;) {
    RECIPERUN_TRY(
        checkMpi(MPI_Improbe(/*source=*/0, announcementTag, MPI_COMM_WORLD,
                             &isThere, &message, &status),
                 "MPI_Improbe", ownRank));
    if (!isThere)
      patience.pause();
  }
  RECIPERUN_TRY(checkMpi(MPI_Get_count(&status, MPI_BYTE, &bytes),
                         "MPI_Get_count", ownRank));
  std::vector<std::byte> announced(static_cast<size_t>(bytes));
  RECIPERUN_TRY(checkMpi(
      MPI_Mrecv(announced.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE),
      "MPI_Mrecv", ownRank));
  return announced;
}

Status MpiSession::send(int rank, std::span<const std::byte> bytes) const {
  const std::string to = "rank " + std::to_string(rank);
  const Watch::Wait wait(watch.get(), {"results", {}, to});
  MPI_Request request = MPI_REQUEST_NULL;
  for (size_t at = 0; at < bytes.size(); at += mostBytes) {
    const int count = int(std::min(mostBytes, bytes.size() - at));
    RECIPERUN_TRY(finishMpi(MPI_Isend(bytes.data() + at, count, MPI_BYTE, rank,
                                      messageTag, MPI_COMM_WORLD, &request),
                            request, "MPI_Isend", ownRank));
  }
  return Status::ok();
}

struct MpiSession::PendingReceive::Requests {
  std::vector<MPI_Request> all;
  int from = 0, to = 0;
  Watch* watch = nullptr;
};

Expected<MpiSession::PendingReceive>
MpiSession::beginReceive(int rank, std::span<std::byte> bytes) const {
  auto requests = std::make_shared<PendingReceive::Requests>();
  requests->from = rank;
  requests->to = ownRank;
  requests->watch = watch.get();
  for (size_t at = 0; at < bytes.size(); at += mostBytes) {
    const int count = int(std::min(mostBytes, bytes.size() - at));
    RECIPERUN_TRY(
        checkMpi(MPI_Irecv(bytes.data() + at, count, MPI_BYTE, rank, messageTag,
                           MPI_COMM_WORLD,
                           &requests->all.emplace_back(MPI_REQUEST_NULL)),
                 "MPI_Irecv", ownRank));
  }
  return PendingReceive(std::move(requests));
}

Status MpiSession::PendingReceive::wait() {
  const std::string from = "rank " + std::to_string(requests->from);
  const Watch::Wait wait(requests->watch, {"results", {}, from});
  return finishMpi(requests->all, "MPI_Irecv", requests->to);
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
