// See UnaryCall.h.

#include "runtime/server/grpc/UnaryCall.h"

#include "runtime/server/grpc/GrpcStatus.h"
#include "runtime/server/http/EventLoop.h"

#include <utility>

namespace reciperun::server {

grpc::ServerUnaryReactor* UnaryCall::start(std::shared_ptr<CallHost> host,
                                           grpc::CallbackServerContext* context,
                                           const CallRule& rule,
                                           const UnaryMessages& messages,
                                           Work work) {
  EventLoop& loop = host->loop;
  const auto call = std::make_shared<UnaryCall>(std::move(host), *context, rule,
                                                messages, std::move(work));
  if (call->host->add(call))
    loop.post([call] { call->begin(); });
  else
    call->finish(shuttingDown());
  return call.get();
}

void UnaryCall::begin() {
  if (ended)
    return;
  const grpc::Status admitted = visit.begin();
  visit.noteRequest(requestBytes);
  if (!admitted.ok())
    return finish(admitted);
  std::exchange(work, {})(shared_from_this());
}

void UnaryCall::end(const Status& status) {
  onCancel = {};
  finish(grpcStatusOf(status));
}

void UnaryCall::abandon(const grpc::Status& status) {
  finish(status);
  if (const auto then = std::exchange(onCancel, {}))
    then();
}

void UnaryCall::finish(const grpc::Status& status) {
  if (ended.exchange(true))
    return;
  if (status.ok())
    visit.noteResponse(answer.ByteSizeLong());
  visit.end(status);
  Finish(status);
}

void UnaryCall::OnCancel() {
  host->loop.post([call = shared_from_this()] {
    call->visit.noteCancel();
    call->abandon(grpc::Status::CANCELLED);
  });
}

void UnaryCall::OnDone() {
  const std::shared_ptr<CallHost> keep = host;
  keep->remove(this);
}

} // namespace reciperun::server
