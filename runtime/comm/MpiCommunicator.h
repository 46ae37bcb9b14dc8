// Collectives by MPI.
//
// Reductions move the contributions with MPI and add them up themselves: each
// element is summed by one rank in rank order and sent to the others, which
// makes the order independent of MPI's choice of algorithm. The traffic is that
// of a ring, 2 (n-1)/n of the tensor. Tensors pass through two buffers of fixed
// size, all that this class ever allocates. What waits for other ranks waits as
// MpiWait.h says.

#ifndef RECIPERUN_COMM_MPICOMMUNICATOR_H
#define RECIPERUN_COMM_MPICOMMUNICATOR_H

#include "runtime/comm/Blocks.h"
#include "runtime/comm/Communicator.h"

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

  /// Splits the world into the groups of the mesh; called by all ranks. The
  /// watch, which may be null, outlives the object.
  static Expected<std::unique_ptr<Communicator>>
  make(const plan::Mesh& mesh, int rank, int ranks, Watch* watch);

  ~MpiCommunicator() override;

  int rank() const override { return ownRank; }
  int ranks() const override { return allRanks; }
  Status allReduce(int group, const Tensor& in, const Tensor& out,
                   Reduction reduction) override;
  Status allGather(int group, const Tensor& in, const Tensor& out,
                   int dim) override;
  Status reduceScatter(int group, const Tensor& in, const Tensor& out,
                       int dim) override;
  Status allToAll(int group, const Tensor& in, const Tensor& out,
                  ShardExchange exchange) override;
  Status send(int to, std::span<const std::byte> bytes) override;
  Status receive(int from, std::span<std::byte> bytes) override;
  Expected<int> beginSend(int to, int link,
                          std::span<const std::byte> bytes) override;
  Expected<int> beginReceive(int from, int link,
                             std::span<std::byte> bytes) override;
  Status finish(int message) override;
  Expected<int> beginAllGather(int group, const Tensor& in,
                               const Tensor& out) override;
  Expected<int> beginExchange(int group, const Tensor& in,
                              const Tensor& out) override;
  Expected<int> beginShift(int group, std::span<const Shift> shifts) override;
  Status agree(const Status& mine) override;
  Watch* watch() override { return lookout; }
  void startsOp(std::string_view name) override { op = name; }

private:
  /// One group: its MPI communicator and this rank's place in it.
  struct CommGroup {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int ranks = 1;
    std::string name; // ``group `tp` of ranks 0, 2``
  };
  /// Something that has begun.
  struct Message {
    std::vector<MPI_Request> requests; // none: the number is free
    std::string_view what;             // `all-gather`
    std::string_view op;               // of the plan
    std::string who;                   // the ranks
  };

  MpiCommunicator(int rank, int ranks, Watch* watch);
  Status split(const plan::Mesh& mesh, const plan::Group& group);
  const CommGroup& commGroup(int group) const;
  Status check(int code, const char* call) const;

  Status reduceSmall(const CommGroup& commGroup, plan::DType type,
                     Reduction reduction, int64_t elements, const std::byte* in,
                     std::byte* out);
  Status reducePiece(const CommGroup& commGroup, plan::DType type,
                     Reduction reduction, int64_t elements, const std::byte* in,
                     std::byte* out);
  Status gatherBytes(const CommGroup& commGroup, const void* in, int64_t bytes,
                     void* out);
  Status exchangeBytes(const CommGroup& commGroup, int64_t bytes);
  Status gatherContiguous(const CommGroup& commGroup, const Tensor& in,
                          const Tensor& out);
  Status gatherPiece(const CommGroup& commGroup, const Blocks& blocks,
                     int64_t begin, int64_t end, const std::byte* in,
                     std::byte* out);
  Status scatterPiece(const CommGroup& commGroup, const Blocks& blocks,
                      plan::DType type, int64_t begin, int64_t end,
                      const std::byte* in, std::byte* out);

  Status exchangePiece(const CommGroup& commGroup, const Blocks& from,
                       const Blocks& to, int64_t begin, int64_t end,
                       const std::byte* in, std::byte* out);

  /// The host waits for the group as long as it lives.
  Watch::Wait waitFor(std::string_view what, const CommGroup& commGroup) const;
  /// A number for a message, which is free again after finish.
  int keep(Message message);

  int ownRank;
  int allRanks;
  Watch* lookout;
  CommGroup all;
  std::vector<CommGroup> groups;
  std::vector<Message> messages;
  std::string_view op; // of the plan, which what is called now is for
  std::unique_ptr<std::byte[]> sending;
  std::unique_ptr<std::byte[]> receiving;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPICOMMUNICATOR_H
