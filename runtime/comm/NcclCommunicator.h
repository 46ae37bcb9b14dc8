// Collectives of GPUs by NCCL, each ordered with the device's stream.
//
// Groups of the same ranks share a communicator, and another one for what runs
// beside kernels (begin), which has a stream of its
// own, too. On one host such data goes by copies instead (PeerCopies.h), on a
// stream for each group, and what such groups do in turn with parts that need
// no packing is done by kernels that read and write the others' memory. So are
// all such all-to-alls: of experts' rows the device alone knows how many there
// are. A stream of its own has every link between two stages, since NCCL knows
// no tags: messages of a pair of ranks arrive in the order of their
// communicator.
// Communicators are made once, from the plan, in one order on all ranks, and
// links carry a byte then: the first message of a pair sets up its connection,
// for which the host waits until the other side calls, too. Ranks that both
// send first would wait for each other in the midst of a schedule.

#ifndef RECIPERUN_COMM_NCCLCOMMUNICATOR_H
#define RECIPERUN_COMM_NCCLCOMMUNICATOR_H

#include "runtime/comm/Blocks.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/NcclLibrary.h"
#include "runtime/comm/NcclWatch.h"
#include "runtime/comm/PeerCopies.h"
#include "runtime/comm/PlanConnections.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/HostWords.h"
#include "runtime/plan/Plan.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::comm {

struct PeerBarrierState;
struct PeerAddresses;

class NcclCommunicator final : public Communicator {
public:
  /// Connects the GPUs of all ranks; `host` connects the processes. Collective.
  /// The context outlives the object.
  static Expected<std::unique_ptr<Communicator>>
  make(const plan::Plan& plan, std::unique_ptr<Communicator> host,
       device::CudaContext& context);
  ~NcclCommunicator() override;

  Communicator& host() override { return *processes; }

  Status run(const Collective& collective) override;
  Expected<int> begin(const Collective& collective) override;
  Status move(const Message& message) override;
  Expected<int> begin(const Message& message) override;
  Status finish(int message) override;
  Status addTerms(int group, const Tensor& in, const Tensor& terms,
                  const Tensor& out) override;
  Status beginsRecording() override;
  int endsRecording() override { return waits.endRecording(); }
  Status launched(int recording) override;
  Status check() override;
  Status agree(const Status& mine) override;
  Expected<std::string> share(std::byte* memory, int64_t bytes) override;

private:
  /// Some ranks, this one among them, and where their collectives are enqueued.
  struct CommGroup {
    ncclComm_t comm = nullptr; // none where the rank is alone
    int rank = 0;
    int ranks = 1;
    cudaStream_t stream = nullptr;
    std::string name; // ``group `tp` of ranks 0 and 2``
    /// Where data goes by copies: their number for it, and who takes part.
    int copies = -1;
    std::vector<int> members = {};
    PeerBarrierState* place = nullptr; // where kernels meet
  };
  /// By rank of the other side and link.
  using Links = std::map<std::pair<int, int>, CommGroup>;
  /// Something that has begun: when the device is done with it.
  struct Underway {
    cudaEvent_t done = nullptr;
    bool isFree = true;
  };

  NcclCommunicator(std::unique_ptr<Communicator> host,
                   device::CudaContext& context);
  Status connect(const plan::Plan& plan);
  Status findHosts();
  Status connectWorld(const plan::Mesh& mesh, const PlanConnections& wanted);
  Status connectGroups(const plan::Mesh& mesh, const PlanConnections& wanted);
  void connectPeers(const plan::Mesh& mesh, const PlanConnections& wanted);
  Expected<PlanConnections> byLibrary(const plan::Mesh& mesh,
                                      PlanConnections wanted);
  bool areOnOneHost(const plan::Mesh& mesh, const plan::Group& group) const;
  Expected<CommGroup> besideByCopies(const std::vector<int>& members);
  CommGroup byCopies(const std::vector<int>& members, cudaStream_t stream);
  Status connectLinks(const plan::Mesh& mesh, const PlanConnections& wanted);
  Status takeBuffers();
  Expected<CommGroup> split(const std::vector<int>& members,
                            cudaStream_t stream, std::string name,
                            ncclConfig_t config);
  bool isWorld(const std::vector<int>& members) const;
  CommGroup whole(cudaStream_t stream) const;
  Status greet(const CommGroup& link);
  Expected<cudaStream_t> newStream(bool isMine = true);
  Expected<const CommGroup*>
  commGroup(const std::map<int, CommGroup>& commGroups, int group) const;

  static int64_t pieceElements(const CommGroup& commGroup,
                               int64_t elementBytes);
  Status allReduce(const Collective& collective);
  Status allGather(const Collective& collective);
  Status reduceScatter(const Collective& collective);
  Status allToAll(const Collective& collective);
  Expected<int> beginAllGather(const Collective& collective);
  Expected<int> beginExchange(const Collective& collective);
  Expected<int> beginShift(const Collective& collective);
  template <class Body>
  Status collect(const char* what, int group, const Body& body);
  Status copy(const CommGroup& commGroup, const void* from, void* to,
              int64_t bytes);
  Status gatherRows(const CommGroup& commGroup, const Blocks& blocks,
                    const Tensor& in, const Tensor& out);
  Status gatherPieces(const CommGroup& commGroup, const Blocks& blocks,
                      const Tensor& in, const Tensor& out);
  Status scatterContiguous(const CommGroup& commGroup, const Tensor& in,
                           const Tensor& out);
  Status scatterRows(const CommGroup& commGroup, const Blocks& blocks,
                     const Tensor& in, const Tensor& out);
  Status scatterPieces(const CommGroup& commGroup, const Blocks& blocks,
                       const Tensor& in, const Tensor& out);
  Status exchangeParts(const CommGroup& commGroup, const std::byte* in,
                       std::byte* out, int64_t bytes);
  static bool overlap(const Tensor& a, const Tensor& b);
  static Blocks partsOf(const Tensor& part, int dim,
                        const CommGroup& commGroup);

  /// The group's group if kernels may carry out what it does with the tensors.
  const CommGroup* barrier(int group,
                           std::initializer_list<const Tensor*> tensors) const;
  static bool areRuns(const Tensor& in, ShardExchange exchange,
                      const CommGroup& commGroup);
  Status gatherByKernels(const CommGroup& commGroup, const Tensor& in,
                         const Tensor& out);
  Status scatterByKernels(const CommGroup& commGroup, const Tensor& in,
                          const Tensor& out);
  Status exchangeByKernels(const CommGroup& commGroup, const Tensor& in,
                           const Tensor& counts, const Tensor& out);
  PeerAddresses placesOf(const CommGroup& commGroup, std::byte* memory,
                         int64_t bytes) const;
  template <class Body>
  Status meet(const char* what, const CommGroup& commGroup, const Body& body);

  /// Each other rank gets `bytes` of `in` as this rank's part of its `out`: the
  /// same, or those that are as many strides on as its place is.
  Status copyParts(const char* what, const CommGroup& commGroup,
                   const Tensor& in, int64_t stride, const Tensor& out,
                   int64_t bytes);

  /// Has a stream wait for the kernels that were enqueued so far.
  Status follow(cudaStream_t stream);
  /// The number of what has been enqueued beside kernels.
  Expected<int> keep(const char* what, const CommGroup& commGroup);
  Status watched(const char* what, const CommGroup& commGroup);
  device::HostWord announced(const char* what, const CommGroup& commGroup);
  std::string purposeOf(const char* what, const CommGroup& commGroup) const;
  /// The host waits for the group as long as it lives: the first collective of
  /// a kind connects ranks.
  Watch::Wait waitFor(const char* what, const CommGroup& commGroup) const;
  /// The same for all ranks, before there are groups.
  Watch::Wait waitForConnection() const;

  std::unique_ptr<Communicator> processes;
  std::vector<int64_t> hosts; // by rank, each named by its first one
  int ranksOnHost = 1;
  device::CudaContext& context;
  NcclLibrary nccl;
  std::vector<ncclComm_t> comms; // all that were made, the world's first
  std::vector<cudaStream_t> streams;
  std::map<int, CommGroup> groups;     // by number, those that the plan uses
  std::map<int, CommGroup> background; // those of what runs beside kernels
  std::map<int, CommGroup> barriers;   // those whose kernels meet
  std::unique_ptr<PeerCopies> peers;   // none where nothing goes that way
  std::string whyNoPeers;              // where it could otherwise
  int groupsOfCopies = 0;
  Links sending, receiving;
  std::vector<Underway> underway;
  std::string_view op; // of the plan, which what is called now is for
  cudaEvent_t enqueued = nullptr;
  std::byte* sendBuffer = nullptr;
  std::byte* receiveBuffer = nullptr;
  NcclWatch waits;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLCOMMUNICATOR_H
