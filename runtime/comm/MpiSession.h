// The process's membership of an MPI job, from MPI_Init to MPI_Finalize.

#ifndef RECIPERUN_COMM_MPISESSION_H
#define RECIPERUN_COMM_MPISESSION_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Watch.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace reciperun::comm {

class MpiSession {
public:
  /// Joins the job that mpirun started, or makes a job of one rank. Call it at
  /// most once per process. After that MPI errors are returned as Status.
  static Expected<MpiSession> start();

  MpiSession(MpiSession&& other) noexcept;
  MpiSession& operator=(MpiSession&&) = delete;
  /// Leaves the job, which waits for all ranks.
  ~MpiSession();

  int rank() const { return ownRank; }
  int ranks() const { return allRanks; }
  /// The status of reading this rank's environment and of starting the watch.
  const Status& environment() const { return read; }
  /// This rank's index among the ranks of its host, which the watch knows from
  /// then on. Collective.
  Expected<int> placeOnHost() const;
  /// The number of ranks on this host, including this one, that pass the same
  /// bytes. All ranks pass the same number of bytes. Collective.
  Expected<int> countOnHost(std::span<const std::byte> bytes) const;

  /// The ranks whose bytes differ from those of rank 0. All ranks pass the same
  /// number of bytes. Collective.
  Expected<std::vector<int>>
  ranksUnlikeFirst(std::span<const std::byte> bytes) const;

  /// Communicator::agree for use before a mesh is known.
  Status agree(const Status& mine) const;

  /// Whether mpirun or another launcher has started this process with others.
  static bool isOneOfSeveral();

  /// Sends bytes to all other ranks. Returns when the caller may overwrite
  /// them.
  Status announce(std::span<const std::byte> bytes) const;
  /// The next bytes that rank 0 announces. Waits without a limit, because rank
  /// 0 may have nothing to do for hours.
  Expected<std::vector<std::byte>> announcement() const;

  /// Sends bytes to a rank that receives equally many. Returns when the caller
  /// may overwrite them.
  Status send(int rank, std::span<const std::byte> bytes) const;

  /// A receive that has begun. Its memory must outlive it.
  class PendingReceive {
  public:
    /// Returns when the bytes have arrived.
    Status wait();

  private:
    friend class MpiSession;
    struct Requests;
    explicit PendingReceive(std::shared_ptr<Requests> requests)
        : requests(std::move(requests)) {}
    std::shared_ptr<Requests> requests;
  };
  /// Starts to receive what `rank` sends next. Several messages arrive in the
  /// order in which their receives began.
  Expected<PendingReceive> beginReceive(int rank,
                                        std::span<std::byte> bytes) const;

  /// Ends all ranks at once with an exit code. For a rank that cannot continue
  /// while others wait for it.
  [[noreturn]] void abort(int exitCode);

  /// Collectives over the groups of a mesh with the job's number of ranks.
  /// Collective. The session must outlive the result.
  Expected<std::unique_ptr<Communicator>> connect(const plan::Mesh& mesh);

private:
  MpiSession() = default;
  bool active = true;
  int ownRank = 0;
  int allRanks = 1;
  Status read;
  std::unique_ptr<Watch> watch; // null for a single rank
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPISESSION_H
