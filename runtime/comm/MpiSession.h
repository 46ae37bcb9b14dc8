// The process's part in an MPI job: from MPI_Init to MPI_Finalize.

#ifndef RECIPERUN_COMM_MPISESSION_H
#define RECIPERUN_COMM_MPISESSION_H

#include "runtime/comm/Communicator.h"
#include "runtime/plan/Plan.h"

#include <memory>

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
  /// Ranks that share this host's cores, this one included.
  int ranksOnHost() const { return hostRanks; }

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
  int hostRanks = 1;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPISESSION_H
