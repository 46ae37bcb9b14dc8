// Collectives over MPI.
//
// Reductions move the contributions with MPI and add them here: one rank sums
// each element in rank order and sends it to the others. The order is therefore
// independent of MPI's choice of algorithm. The traffic is that of a ring, 2
// (n-1)/n of the tensor. Tensors pass through two buffers of fixed size, the
// only memory that this class allocates. All waits go through MpiWait.h.

#ifndef RECIPERUN_COMM_MPICOMMUNICATOR_H
#define RECIPERUN_COMM_MPICOMMUNICATOR_H

#include "runtime/comm/Blocks.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/Mesh.h"

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::comm {

class MpiCommunicator final : public Communicator {
public:
  /// Bytes of each of the two buffers.
  static constexpr int64_t bufferBytes = int64_t(4) << 20;

  /// Splits the world into the groups of the mesh. Collective. The watch, which
  /// may be null, outlives the object.
  static Expected<std::unique_ptr<Communicator>>
  make(const plan::Mesh& mesh, int rank, int ranks, Watch* watch);

  ~MpiCommunicator() override;

  Status run(const Collective& collective) override;
  Expected<int> begin(const Collective& collective) override;
  Status move(const Message& message) override;
  Expected<int> begin(const Message& message) override;
  Status finish(int message) override;
  Status agree(const Status& mine) override;

private:
  /// One group: its MPI communicator and this rank's index in it.
  struct CommGroup {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int ranks = 1;
    std::string name; // ``group `tp` of ranks 0, 2``
  };
  /// An operation that has begun.
  struct Underway {
    std::vector<MPI_Request> requests; // empty: the slot is free
    std::string_view what;             // `all-gather`
    std::string_view op;               // the plan's op
    std::string who;                   // the ranks
  };

  MpiCommunicator(int rank, int ranks, Watch* watch);
  Status split(const plan::Mesh& mesh, const plan::Group& group);
  const CommGroup& commGroup(int group) const;
  Status check(int code, const char* call) const;

  Status allReduce(const Collective& collective);
  Status allGather(const Collective& collective);
  Status reduceScatter(const Collective& collective);
  Status allToAll(const Collective& collective);
  Status broadcast(const Collective& collective);
  Status reduce(const Collective& collective);
  Status transfer(const Collective& collective);
  Expected<int> beginAllGather(const Collective& collective);
  /// `what` names the collective to the watch.
  Expected<int> beginExchange(const Collective& collective, const char* what);
  Expected<int> beginShift(const Collective& collective);

  Status reduceSmall(const CommGroup& commGroup, plan::DType type,
                     Reduction reduction, int64_t elements, const std::byte* in,
                     std::byte* out);
  Status reducePiece(const CommGroup& commGroup, const Collective& collective,
                     int64_t begin, int64_t end);
  Status reducePieces(const CommGroup& commGroup, const Collective& collective);
  Status gatherBytes(const CommGroup& commGroup, const void* in, int64_t bytes,
                     void* out);
  Status exchangeBytes(const CommGroup& commGroup, int64_t bytes);
  Status gatherContiguous(const CommGroup& commGroup, const Tensor& in,
                          const Tensor& out);
  Status gatherPiece(const CommGroup& commGroup, const Blocks& blocks,
                     int64_t begin, int64_t end, const std::byte* in,
                     std::byte* out);
  Status scatterPiece(const CommGroup& commGroup, const Blocks& blocks,
                      const Collective& collective, int64_t begin, int64_t end);

  Status exchangePiece(const CommGroup& commGroup, const Blocks& from,
                       const Blocks& to, int64_t begin, int64_t end,
                       const std::byte* in, std::byte* out);

  /// Tells the watch that the host waits for the group until the result is
  /// destroyed. `op` is the plan's op, or empty.
  Watch::Wait waitFor(std::string_view what, const CommGroup& commGroup,
                      std::string_view op = {}) const;
  /// Stores an operation and returns its id, which finish frees.
  int keep(Underway begun);

  CommGroup all;
  std::vector<CommGroup> groups;
  std::vector<Underway> underway;
  std::unique_ptr<std::byte[]> sending;
  std::unique_ptr<std::byte[]> receiving;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPICOMMUNICATOR_H
