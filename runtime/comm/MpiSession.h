// The process's part in an MPI job: from MPI_Init to MPI_Finalize.

#ifndef RECIPERUN_COMM_MPISESSION_H
#define RECIPERUN_COMM_MPISESSION_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Watch.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace reciperun::comm {

class MpiSession {
public:
  /// Joins the job that mpirun started, or makes one of a single rank. At most
  /// once a process. Errors of MPI come back as Status from then on.
  static Expected<MpiSession> start();

  MpiSession(MpiSession&& other) noexcept;
  MpiSession& operator=(MpiSession&&) = delete;
  /// Leaves the job, which waits for all ranks.
  ~MpiSession();

  int rank() const { return ownRank; }
  int ranks() const { return allRanks; }
  /// How this rank's environment read, and whether waits are watched over.
  const Status& environment() const { return read; }
  /// The number of this rank among those of its host. Collective.
  Expected<int> placeOnHost() const;
  /// How many ranks of this host, this one included, hand in the same bytes;
  /// all hand in equally many. Collective.
  Expected<int> countOnHost(std::span<const std::byte> bytes) const;

  /// The ranks that hand in other bytes than rank 0; all hand in equally many.
  /// Collective.
  Expected<std::vector<int>>
  ranksUnlikeFirst(std::span<const std::byte> bytes) const;

  /// Communicator::agree for what comes before a mesh is known.
  Status agree(const Status& mine) const;

  /// Ends all ranks at once with an exit code; for a rank that cannot go on
  /// while others wait for it.
  [[noreturn]] void abort(int exitCode);

  /// Collectives over the groups of a mesh of as many ranks. Collective itself;
  /// the session must outlive the result.
  Expected<std::unique_ptr<Communicator>> connect(const plan::Mesh& mesh);

private:
  MpiSession() = default;
  bool active = true;
  int ownRank = 0;
  int allRanks = 1;
  Status read;
  std::unique_ptr<Watch> watch; // where there are others
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPISESSION_H
