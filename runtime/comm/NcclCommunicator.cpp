// See NcclCommunicator.h.

#include "runtime/comm/NcclCommunicator.h"

#include <utility>

namespace reciperun::comm {

NcclCommunicator::NcclCommunicator(std::unique_ptr<Communicator> host,
                                   std::unique_ptr<NcclConnections> connected,
                                   device::CudaContext& context)
    : Communicator(host->rank(), host->ranks(), host->watch()),
      processes(std::move(host)), context(context),
      connections(std::move(connected)), progress(processes->watch()),
      background(rank(), *connections, progress, context),
      collectives(*connections, progress) {}

/// Disconnects first: the watches must run until no collective can be running.
NcclCommunicator::~NcclCommunicator() {
  connections->disconnect();
}

Expected<std::unique_ptr<Communicator>>
NcclCommunicator::make(const plan::Plan& plan,
                       std::unique_ptr<Communicator> host,
                       device::CudaContext& context) {
  auto connected = NcclConnections::make(plan, *host, context);
  RECIPERUN_TRY(connected);
  std::unique_ptr<NcclCommunicator> result(
      new NcclCommunicator(std::move(host), *std::move(connected), context));
  RECIPERUN_TRY(result->open());
  return std::unique_ptr<Communicator>(std::move(result));
}

Status NcclCommunicator::open() {
  RECIPERUN_TRY(background.open());
  RECIPERUN_TRY(progress.start());
  return connections->packs ? collectives.takeBuffers() : Status::ok();
}

Status NcclCommunicator::run(const Collective& collective) {
  return collectives.run(collective);
}

Expected<int> NcclCommunicator::begin(const Collective& collective) {
  return background.begin(collective);
}

Expected<int> NcclCommunicator::begin(const Message& message) {
  return background.begin(message);
}

Status NcclCommunicator::finish(int message) {
  return background.finish(message);
}

Status NcclCommunicator::addTerms(int group, const Tensor& in,
                                  const Tensor& terms, const Tensor& out) {
  return background.addTerms(group, in, terms, out);
}

Status NcclCommunicator::move(const Message& message) {
  return processes->move(message);
}

Status NcclCommunicator::agree(const Status& mine) {
  return processes->agree(mine);
}

Expected<std::string> NcclCommunicator::share(std::byte* memory,
                                              int64_t bytes) {
  if (connections->peers)
    RECIPERUN_TRY(connections->peers->share(memory, bytes));
  return connections->whyNoPeers;
}

Status NcclCommunicator::beginsRecording() {
  return progress.beginsRecording(context.stream());
}

Status NcclCommunicator::launched(int recording) {
  return progress.launched(context.stream(), recording);
}

} // namespace reciperun::comm
