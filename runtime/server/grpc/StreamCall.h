// The call ModelStreamInfer: a stream of requests and a stream of their
// responses.
//
// Responses of models without decoupled transactions are in the order of their
// requests; those of other models come as they are made. A failed request is
// answered by a response with an error message, or, where the client asked for
// it by the header `triton_grpc_error: true`, ends the stream.
//
// One request is read at a time, and none while too many are open. Responses
// wait in a queue for the client, whose size is limited.

#ifndef RECIPERUN_SERVER_GRPC_STREAMCALL_H
#define RECIPERUN_SERVER_GRPC_STREAMCALL_H

#include "runtime/server/grpc/CallHost.h"
#include "runtime/server/grpc/CallVisit.h"
#include "runtime/server/grpc/InferMessages.h"
#include "runtime/server/models/Inference.h"

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace reciperun::server {

class StreamCall final
    : public grpc::ServerBidiReactor<inference::ModelInferRequest,
                                     inference::ModelStreamInferResponse>,
      public OpenCall,
      public std::enable_shared_from_this<StreamCall> {
public:
  StreamCall(std::shared_ptr<CallHost> ofServer,
             grpc::CallbackServerContext* context)
      : host(std::move(ofServer)), context(context),
        visit(*host, *context, {"ModelStreamInfer", "inference"}) {}

  using Reactor = grpc::ServerBidiReactor<inference::ModelInferRequest,
                                          inference::ModelStreamInferResponse>;
  static Reactor* start(std::shared_ptr<CallHost> host,
                        grpc::CallbackServerContext* context);

  void abandon(const grpc::Status& status) override;

  // ---- of gRPC's threads; the rest belongs to the server's thread
  void OnReadDone(bool isOk) override;
  void OnWriteDone(bool isOk) override;
  void OnCancel() override;
  void OnDone() override;

private:
  using Message = std::unique_ptr<inference::ModelStreamInferResponse>;

  /// A request that has no last response yet, or whose responses wait for those
  /// of earlier ones.
  struct Request {
    std::string id, model, version; // as the client gave them
    bool isDecoupled = false, wantsEmptyFinal = false, hasEnded = false;
    std::weak_ptr<Inference> inference;
    std::deque<Message> held;
    std::shared_ptr<void> counted;
  };
  using RequestPtr = std::shared_ptr<Request>;

  void begin();
  void read();
  void received(bool isOk, size_t bytes);
  void take(inference::ModelInferRequest message);
  Status infer(const RequestPtr& request,
               inference::ModelInferRequest&& message);
  void respond(const RequestPtr& request, InferResponse response);
  Message messageOf(const Request& request, InferResponse response);
  void endRequest(const RequestPtr& request);
  void releaseInOrder();
  void sendHeld(Request& request);
  void checkReader();
  void writeNext();
  void written(bool isOk);
  void endWhenIdle();
  void end(const grpc::Status& status, bool sendsQueue);
  void finish();
  void cancelRequests();

  const std::shared_ptr<CallHost> host;
  grpc::CallbackServerContext* const context;
  CallVisit visit;
  inference::ModelInferRequest incoming;
  std::list<RequestPtr> requests;    // without a last response
  std::deque<RequestPtr> ordered;    // of models that are not decoupled
  std::deque<Message> queue;         // the first is being written
  size_t waitingBytes = 0;           // of `queue` and of all that is held
  std::optional<grpc::Status> final; // once no request is answered any more
  bool endsOnError = false, isReading = false, isWriting = false;
  bool hasAllRequests = false, isFinished = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_STREAMCALL_H
