// A call with one request and one answer.
//
// gRPC forgets a call once it has ended, with its request and its answer, while
// posted work may still refer to it: such work holds the call and looks at
// hasEnded() before it touches the messages.

#ifndef RECIPERUN_SERVER_GRPC_UNARYCALL_H
#define RECIPERUN_SERVER_GRPC_UNARYCALL_H

#include "runtime/base/Status.h"
#include "runtime/server/grpc/CallHost.h"
#include "runtime/server/grpc/CallVisit.h"

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

namespace reciperun::server {

/// The messages of a call; they are gRPC's.
struct UnaryMessages {
  const google::protobuf::MessageLite& request;
  const google::protobuf::MessageLite& answer;
};

class UnaryCall final : public grpc::ServerUnaryReactor,
                        public OpenCall,
                        public std::enable_shared_from_this<UnaryCall> {
public:
  using Work = std::function<void(const std::shared_ptr<UnaryCall>& call)>;

  UnaryCall(std::shared_ptr<CallHost> ofServer,
            grpc::CallbackServerContext& context, const CallRule& rule,
            const UnaryMessages& messages, Work work)
      : host(std::move(ofServer)), visit(*host, context, rule),
        requestBytes(messages.request.ByteSizeLong()), answer(messages.answer),
        work(std::move(work)) {}

  /// Begins a call: `work` runs on the server's thread, unless the call is
  /// refused, and ends the call then or later.
  static grpc::ServerUnaryReactor*
  start(std::shared_ptr<CallHost> host, grpc::CallbackServerContext* context,
        const CallRule& rule, const UnaryMessages& messages, Work work);

  // ---- of the server's thread

  bool hasEnded() const { return ended; }
  void noteModel(const std::string& model) { visit.noteModel(model); }
  void noteTokens(const TokenCounts& tokens) { visit.noteTokens(tokens); }
  /// Sends the answer, or the failure. A second end has no effect.
  void end(const Status& status);
  /// `then` runs after the client has cancelled the call or is gone, and after
  /// abandon(), unless the call has ended before.
  void whenCancelled(std::function<void()> then) { onCancel = std::move(then); }

  void abandon(const grpc::Status& status) override;

  // ---- of gRPC's threads

  void OnDone() override;
  void OnCancel() override;

private:
  void begin();
  void finish(const grpc::Status& status);

  const std::shared_ptr<CallHost> host;
  CallVisit visit;
  const size_t requestBytes;
  const google::protobuf::MessageLite& answer; // until the call has ended
  Work work;
  std::function<void()> onCancel;
  std::atomic<bool> ended = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_UNARYCALL_H
