// The connections of a rank's GPU to other GPUs.
//
// They follow the plan's table (ConnectionTable.h):
//
//   NCCL          a communicator each. Those that overlap with kernels share
//                 one stream; the others use the context's stream;
//   peer copies   a stream each (PeerCopies.h);
//   peer kernels  the context's stream (NcclPeerBarriers.h);
//   links         a communicator and a stream for each link between two stages:
//                 NCCL has no tags, so the messages of one communicator arrive
//                 in the order in which they are sent.
//
// Connections are made once, in the same order on all ranks. Each link then
// transfers one byte: the first message of a pair of ranks sets up its
// connection, and the host waits until the other side calls too. Without this
// byte, two ranks that both send first would deadlock in the middle of a
// schedule.

#ifndef RECIPERUN_COMM_NCCLCONNECTIONS_H
#define RECIPERUN_COMM_NCCLCONNECTIONS_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/ConnectionTable.h"
#include "runtime/comm/NcclGroup.h"
#include "runtime/comm/NcclLibrary.h"
#include "runtime/comm/PeerCopies.h"
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

  /// Destroys the communicators and streams. No collective may be running.
  void disconnect();

  /// Returns the failure of running collectives if NCCL knows one.
  Status check() const;

  /// The connections of links, by peer rank and link index.
  using Links = std::map<std::pair<int, int>, NcclGroup>;

  NcclLibrary nccl;
  NcclGroups groups;        // the groups that the plan uses
  NcclGroups background;    // groups whose transfers overlap with kernels
  NcclGroups barriers;      // groups whose kernels use barriers
  Links sending, receiving; // between stages
  std::unique_ptr<PeerCopies> peers; // null when no group uses copies
  std::string whyNoPeers; // why copies are not used although a group could
  bool packs = false;     // whether tensors pass through packing buffers

private:
  NcclConnections(Communicator& processes, device::CudaContext& context)
      : processes(processes), context(context) {}
  Status connect(const plan::Plan& plan);
  Expected<std::vector<int64_t>> findHosts();
  void connectPeers(const ConnectionTable& table);
  Status connectWorld(const ConnectionTable& table);
  Status connectGroups(const plan::Mesh& mesh, const ConnectionTable& table);
  Expected<NcclGroup> connectGroup(const ConnectionTable& table,
                                   const plan::GroupConnection& connection,
                                   const std::string& name);
  int widthOf(const ConnectionTable& table,
              const plan::GroupConnection& connection) const;
  Expected<NcclGroup> byKernels(const std::vector<int>& members);
  Expected<NcclGroup> byCopies(const std::vector<int>& members);
  NcclGroup mapped(const std::vector<int>& members, cudaStream_t stream);
  Status connectLinks(const plan::Mesh& mesh, const ConnectionTable& table);
  Expected<NcclGroup> split(const std::vector<int>& members,
                            cudaStream_t stream, std::string name,
                            ncclConfig_t config);
  bool isWorld(const std::vector<int>& members) const;
  NcclGroup whole(cudaStream_t stream) const;
  Status greet(const NcclGroup& link);
  Expected<cudaStream_t> newStream(bool isMine = true);
  /// Tells the watch that the host waits for all ranks to connect, until the
  /// result is destroyed.
  Watch::Wait waitForConnection() const;
  int rank() const { return processes.rank(); }
  int ranks() const { return processes.ranks(); }

  Communicator& processes;
  device::CudaContext& context;
  std::vector<ncclComm_t> comms; // all communicators; the world's is the first
  std::vector<cudaStream_t> streams;
  cudaStream_t overlappingStream = nullptr; // of NCCL
  int groupsOfCopies = 0;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLCONNECTIONS_H
