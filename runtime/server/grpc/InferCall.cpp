// Tensors are read on gRPC's thread, so that large ones do not keep the
// server's thread; a failure of that counts only after the model is known.

#include "runtime/server/grpc/InferCall.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/grpc/InferMessages.h"
#include "runtime/server/grpc/UnaryCall.h"

#include <optional>
#include <utility>

namespace reciperun::server {
namespace {

using Call = std::shared_ptr<UnaryCall>;

/// Collects what a model answers: one response, and then perhaps an empty one.
class SingleResponse {
public:
  SingleResponse(Call call, inference::ModelInferResponse* target,
                 std::shared_ptr<void> counted)
      : call(std::move(call)), target(target), counted(std::move(counted)) {}

  void take(InferResponse response) {
    const bool isLast = response.isLast;
    call->noteTokens(response.tokens);
    if (!response.isEmpty || !response.status.isOk()) {
      ++responses;
      kept = std::move(response);
    }
    if (!isLast)
      return;
    counted = nullptr;
    if (!call->hasEnded())
      call->end(finish());
  }

private:
  Status finish() {
    if (kept && !kept->status.isOk())
      return kept->status;
    if (responses != 1)
      return Status::error("expected a single response, got " +
                           std::to_string(responses));
    Status written = writeResponse(*std::move(kept), *target);
    if (!written.isOk())
      target->Clear();
    return written;
  }

  const Call call;
  inference::ModelInferResponse* const target; // until the call has ended
  std::shared_ptr<void> counted;
  std::optional<InferResponse> kept;
  int responses = 0;
};

Status checkModel(const CallHost& host,
                  const inference::ModelInferRequest& request,
                  const Expected<ReadRequest>& read) {
  const auto config =
      configFor(host, request.model_name(), request.model_version());
  RECIPERUN_TRY(config);
  if ((*config)->model_transaction_policy().decoupled())
    return Status::error("ModelInfer RPC doesn't support models with decoupled "
                         "transaction policy",
                         StatusCode::unsupported);
  RECIPERUN_TRY(read);
  return checkTypes(*read, **config);
}

void inferNow(CallHost& host, const Call& call, ReadRequest read,
              inference::ModelInferResponse* response) {
  call->noteModel(read.request.model);
  const auto single =
      std::make_shared<SingleResponse>(call, response, host.countRequest());
  const std::weak_ptr<Inference> begun = host.models.infer(
      std::move(read.request),
      [single](InferResponse answer) { single->take(std::move(answer)); });
  // The model holds the request; a client's cancel must not.
  if (!call->hasEnded())
    call->whenCancelled([begun] {
      if (const auto inference = begun.lock())
        inference->cancel();
    });
}

} // namespace

Expected<std::shared_ptr<const inference::ModelConfig>>
configFor(const CallHost& host, const std::string& model,
          const std::string& version) {
  RECIPERUN_TRY(host.acceptsRequests());
  const auto number = readVersion(version);
  RECIPERUN_TRY(number);
  return host.models.config(model, *number);
}

void setCompression(const GrpcSettings& settings,
                    grpc::CallbackServerContext& context) {
  switch (settings.compression) {
  case GrpcCompression::none:
    return;
  case GrpcCompression::low:
    return context.set_compression_level(GRPC_COMPRESS_LEVEL_LOW);
  case GrpcCompression::medium:
    return context.set_compression_level(GRPC_COMPRESS_LEVEL_MED);
  case GrpcCompression::high:
    return context.set_compression_level(GRPC_COMPRESS_LEVEL_HIGH);
  }
}

grpc::ServerUnaryReactor*
startModelInfer(const std::shared_ptr<CallHost>& host,
                grpc::CallbackServerContext* context,
                const inference::ModelInferRequest* request,
                inference::ModelInferResponse* response) {
  setCompression(host->settings, *context);
  const auto read =
      std::make_shared<Expected<ReadRequest>>(readRequest(*request));
  return UnaryCall::start(
      host, context, {"ModelInfer", "inference"}, {*request, *response},
      [host, request, response, read](const Call& call) {
        const Status checked = checkModel(*host, *request, *read);
        if (!checked.isOk())
          return call->end(checked);
        inferNow(*host, call, *std::move(*read), response);
      });
}

} // namespace reciperun::server
