// The connections of a rank's GPU to those of others.
//
// Groups of the same ranks share a communicator, and another one for what runs
// beside kernels, which has a stream of its own, too. On one host such data
// goes by copies instead (PeerCopies.h), on a stream for each group. A stream
// of its own has every link between two stages, since NCCL knows no tags:
// messages of a pair of ranks arrive in the order of their communicator.
// Communicators are made once, from the plan, in one order on all ranks, and
// links carry a byte then: the first message of a pair sets up its connection,
// for which the host waits until the other side calls, too. Ranks that both
// send first would wait for each other in the midst of a schedule.

#ifndef RECIPERUN_COMM_NCCLCONNECTIONS_H
#define RECIPERUN_COMM_NCCLCONNECTIONS_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/NcclGroup.h"
#include "runtime/comm/NcclLibrary.h"
#include "runtime/comm/PeerCopies.h"
#include "runtime/comm/PlanConnections.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/plan/Plan.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::comm {

class NcclConnections {
public:
  /// Connects the GPUs of all ranks; `processes` connects the processes.
  /// Collective. The arguments outlive the object.
  static Expected<std::unique_ptr<NcclConnections>>
  make(const plan::Plan& plan, Communicator& processes,
       device::CudaContext& context);
  ~NcclConnections() { disconnect(); }

  NcclConnections(const NcclConnections&) = delete;
  NcclConnections& operator=(const NcclConnections&) = delete;

  /// Ends the communicators and streams; nothing is under way.
  void disconnect();

  /// The failure of what is under way, as far as NCCL knows it.
  Status check() const;

  /// By rank of the other side and link.
  using Links = std::map<std::pair<int, int>, NcclGroup>;

  NcclLibrary nccl;
  NcclGroups groups;                 // those that the plan uses
  NcclGroups background;             // those of what runs beside kernels
  NcclGroups barriers;               // those whose kernels meet
  Links sending, receiving;          // between stages
  std::unique_ptr<PeerCopies> peers; // none where nothing goes that way
  std::string whyNoPeers;            // where it could otherwise
  bool packs = false;                // whether tensors pass through buffers

private:
  NcclConnections(Communicator& processes, device::CudaContext& context)
      : processes(processes), context(context) {}
  Status connect(const plan::Plan& plan);
  Status findHosts();
  Status connectWorld(const plan::Mesh& mesh, const PlanConnections& wanted);
  Status connectGroups(const plan::Mesh& mesh, const PlanConnections& wanted);
  void connectPeers(const plan::Mesh& mesh, const PlanConnections& wanted);
  Expected<PlanConnections> byLibrary(const plan::Mesh& mesh,
                                      PlanConnections wanted);
  bool areOnOneHost(const plan::Mesh& mesh, const plan::Group& group) const;
  Expected<NcclGroup> besideByCopies(const std::vector<int>& members);
  NcclGroup byCopies(const std::vector<int>& members, cudaStream_t stream);
  Status connectLinks(const plan::Mesh& mesh, const PlanConnections& wanted);
  Expected<NcclGroup> split(const std::vector<int>& members,
                            cudaStream_t stream, std::string name,
                            ncclConfig_t config);
  bool isWorld(const std::vector<int>& members) const;
  NcclGroup whole(cudaStream_t stream) const;
  Status greet(const NcclGroup& link);
  Expected<cudaStream_t> newStream(bool isMine = true);
  /// The host waits for all ranks, before there are groups.
  Watch::Wait waitForConnection() const;
  int rank() const { return processes.rank(); }
  int ranks() const { return processes.ranks(); }

  Communicator& processes;
  std::vector<int64_t> hosts; // by rank, each named by its first one
  int ranksOnHost = 1;
  device::CudaContext& context;
  std::vector<ncclComm_t> comms; // all that were made, the world's first
  std::vector<cudaStream_t> streams;
  int groupsOfCopies = 0;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLCONNECTIONS_H
