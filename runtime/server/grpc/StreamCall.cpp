// See StreamCall.h.

#include "runtime/server/grpc/StreamCall.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/grpc/GrpcStatus.h"
#include "runtime/server/grpc/InferCall.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/models/ModelServer.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {
namespace {

bool wantsErrorStatus(const grpc::CallbackServerContext& context) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find("triton_grpc_error");
  return found != headers.end() && found->second == "true";
}

} // namespace

StreamCall::Reactor* StreamCall::start(std::shared_ptr<CallHost> host,
                                       grpc::CallbackServerContext* context) {
  setCompression(host->settings, *context);
  EventLoop& loop = host->loop;
  const auto call = std::make_shared<StreamCall>(std::move(host), context);
  if (call->host->add(call))
    loop.post([call] { call->begin(); });
  else
    call->abandon(shuttingDown());
  return call.get();
}

// ---- gRPC's threads

void StreamCall::OnReadDone(bool isOk) {
  const size_t bytes = isOk ? incoming.ByteSizeLong() : 0;
  host->loop.post([call = shared_from_this(), isOk, bytes] {
    call->received(isOk, bytes);
  });
}

void StreamCall::OnWriteDone(bool isOk) {
  host->loop.post([call = shared_from_this(), isOk] { call->written(isOk); });
}

void StreamCall::OnCancel() {
  host->loop.post([call = shared_from_this()] {
    call->visit.noteCancel();
    call->end(grpc::Status::CANCELLED, /*sendsQueue=*/false);
  });
}

void StreamCall::OnDone() {
  const std::shared_ptr<CallHost> keep = host;
  keep->remove(this);
}

// ---- requests

void StreamCall::begin() {
  if (final)
    return;
  const grpc::Status admitted = visit.begin();
  if (!admitted.ok())
    return end(admitted, /*sendsQueue=*/false);
  endsOnError = wantsErrorStatus(*context);
  read();
}

/// Reads the next request, unless too many requests are open or too many
/// responses wait.
void StreamCall::read() {
  const GrpcLimits& limits = host->settings.limits;
  const bool isFull = requests.size() >= limits.streamRequests ||
                      waitingBytes > limits.streamResponseBytes / 2;
  if (final || hasAllRequests || isReading || isFull)
    return;
  isReading = true;
  StartRead(&incoming);
}

void StreamCall::received(bool isOk, size_t bytes) {
  isReading = false;
  if (final)
    return;
  hasAllRequests = !isOk;
  visit.noteRequest(bytes);
  if (isOk) {
    inference::ModelInferRequest message;
    message.Swap(&incoming);
    take(std::move(message));
    read();
  }
  endWhenIdle();
}

void StreamCall::take(inference::ModelInferRequest message) {
  const auto request = std::make_shared<Request>();
  request->id = message.id();
  request->model = message.model_name();
  request->version = message.model_version();
  request->counted = host->countRequest();
  requests.push_back(request);
  const Status begun = infer(request, std::move(message));
  if (!begun.isOk())
    respond(request, {.status = begun});
}

/// Passes a request to its model. A failure means that the model did not get
/// it.
Status StreamCall::infer(const RequestPtr& request,
                         inference::ModelInferRequest&& message) {
  const auto config = configFor(*host, request->model, request->version);
  request->isDecoupled =
      config && (*config)->model_transaction_policy().decoupled();
  if (!request->isDecoupled)
    ordered.push_back(request);
  RECIPERUN_TRY(config);
  Expected<ReadRequest> read = readRequest(std::move(message));
  RECIPERUN_TRY(read);
  RECIPERUN_TRY(checkTypes(*read, **config));
  request->wantsEmptyFinal = read->wantsEmptyFinal;
  visit.noteModel(read->request.model);
  request->inference = host->models.infer(
      std::move(read->request),
      [call = shared_from_this(), request](InferResponse response) {
        call->respond(request, std::move(response));
      });
  return Status::ok();
}

// ---- responses

void StreamCall::respond(const RequestPtr& request, InferResponse response) {
  const bool isLast = response.isLast;
  visit.noteTokens(response.tokens);
  if (!final && !response.status.isOk() && endsOnError)
    end(grpcStatusOf(response.status), /*sendsQueue=*/true);
  if (!final)
    if (Message message = messageOf(*request, std::move(response))) {
      waitingBytes += message->ByteSizeLong();
      request->held.push_back(std::move(message));
    }
  if (isLast)
    endRequest(request);
  if (request->isDecoupled) {
    sendHeld(*request);
    checkReader();
  }
  releaseInOrder();
  read();
  endWhenIdle();
}

/// Makes the message for a response; null if the client does not want it.
StreamCall::Message StreamCall::messageOf(const Request& request,
                                          InferResponse response) {
  const bool isLast = response.isLast;
  const bool isEmpty = response.isEmpty && response.status.isOk();
  if (isEmpty && !(request.isDecoupled && request.wantsEmptyFinal))
    return nullptr;
  auto message = std::make_unique<inference::ModelStreamInferResponse>();
  inference::ModelInferResponse& answer = *message->mutable_infer_response();
  Status status = response.status;
  if (status.isOk() && !isEmpty)
    status = writeResponse(std::move(response), answer);
  if (!status.isOk()) {
    message->set_error_message(status.message());
    answer.Clear();
  }
  if (!status.isOk() || isEmpty) {
    answer.set_id(request.id);
    answer.set_model_name(request.model);
    answer.set_model_version(request.version);
  }
  (*answer.mutable_parameters())["triton_final_response"].set_bool_param(
      isLast);
  return message;
}

void StreamCall::endRequest(const RequestPtr& request) {
  request->hasEnded = true;
  request->counted = nullptr;
  requests.remove(request);
}

/// Sends the responses that are next in the order of requests, and removes
/// requests that have ended.
void StreamCall::releaseInOrder() {
  while (!ordered.empty()) {
    const RequestPtr first = ordered.front();
    sendHeld(*first);
    if (!first->hasEnded)
      return;
    ordered.pop_front();
  }
}

void StreamCall::sendHeld(Request& request) {
  for (Message& message : std::exchange(request.held, {}))
    if (!final)
      queue.push_back(std::move(message));
  writeNext();
}

/// Ends the stream if its client takes responses more slowly than a decoupled
/// model makes them. Responses of other models need no limit, because few
/// requests are open.
void StreamCall::checkReader() {
  const size_t most = host->settings.limits.streamResponseBytes;
  if (waitingBytes > most && queue.size() > 1)
    end({grpc::StatusCode::RESOURCE_EXHAUSTED,
         "the client takes its responses too slowly: " +
             std::to_string(waitingBytes) + " bytes wait, of at most " +
             std::to_string(most)},
        /*sendsQueue=*/false);
}

// ---- writing

/// Writes the first response of the queue, or ends the stream after the last.
void StreamCall::writeNext() {
  if (isWriting || isFinished)
    return;
  if (!queue.empty()) {
    isWriting = true;
    StartWrite(queue.front().get());
    return;
  }
  if (final)
    finish();
}

void StreamCall::written(bool isOk) {
  isWriting = false;
  if (!queue.empty()) {
    const size_t bytes = queue.front()->ByteSizeLong();
    waitingBytes -= std::min(waitingBytes, bytes);
    queue.pop_front();
    visit.noteResponse(isOk ? bytes : 0);
  }
  if (!isOk) {
    visit.noteCancel();
    end(grpc::Status::CANCELLED, /*sendsQueue=*/false);
  }
  writeNext();
  read();
}

void StreamCall::endWhenIdle() {
  if (hasAllRequests && requests.empty() && ordered.empty())
    end(grpc::Status::OK, /*sendsQueue=*/true);
}

/// Ends the stream: no request is answered any more. Queued responses are sent
/// first if `sendsQueue`; otherwise they are dropped, except the one that is
/// being written.
void StreamCall::end(const grpc::Status& status, bool sendsQueue) {
  if (!sendsQueue)
    while (queue.size() > size_t(isWriting))
      queue.pop_back();
  if (!final) {
    final = status;
    cancelRequests();
  }
  writeNext();
}

void StreamCall::cancelRequests() {
  ordered.clear();
  const std::list<RequestPtr> open = std::exchange(requests, {});
  for (const RequestPtr& request : open) {
    request->counted = nullptr;
    if (const auto inference = request->inference.lock())
      inference->cancel();
  }
}

void StreamCall::abandon(const grpc::Status& status) {
  if (!final) {
    final = status;
    cancelRequests();
  }
  if (isFinished)
    return;
  // Does not wait for the response that is being written: the client may never
  // take it.
  finish();
}

void StreamCall::finish() {
  isFinished = true;
  visit.end(*final);
  Finish(*final);
}

} // namespace reciperun::server
