// See ServedVersion.h.

#include "runtime/server/repository/ServedVersion.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/models/RequestCheck.h"

#include <utility>

namespace reciperun::server {
namespace {

uint64_t nanosecondsSince(std::chrono::steady_clock::time_point begin) {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now() - begin)
                      .count());
}

} // namespace

ServedVersion::ServedVersion(SharedConfig config, int64_t version,
                             const MakeScheduler& makeScheduler,
                             ResponseCache* cache, InferenceObserver* observer)
    : given(std::move(config)), number(version), cache(cache),
      isDecoupled(given->model_transaction_policy().decoupled()) {
  counts.name = given->name();
  counts.version = std::to_string(version);
  counts.usesCache = cache != nullptr;
  counts.observer = observer;
  scheduler = makeScheduler(counts);
}

std::shared_ptr<Inference> ServedVersion::infer(InferRequest request,
                                                Inference::Respond respond) {
  const Expected<int64_t> elements = checkRequest(*given, request);
  const auto progress =
      std::make_shared<Progress>(Progress{.begin = Clock::now(),
                                          .responses = 0,
                                          .cacheKey = {},
                                          .outputs = outputsOf(request)});
  if (wantsClasses(request.outputs))
    respond = withClasses(request.outputs, std::move(respond));
  ++open;
  auto inference = std::make_shared<Inference>(
      std::move(request),
      [self = shared_from_this(), progress,
       respond = std::move(respond)](InferResponse response) {
        self->take(response, *progress);
        respond(std::move(response));
      });
  if (!elements)
    inference->fail(elements.status());
  else if (!answerFromCache(*inference, *progress))
    scheduler->enqueue(inference, *elements);
  return inference;
}

/// Those that the configuration declares, and the client wants.
std::set<std::string>
ServedVersion::outputsOf(const InferRequest& request) const {
  std::set<std::string> names;
  for (const RequestedOutput& output : request.outputs)
    names.insert(output.name);
  if (names.empty())
    for (const inference::ModelOutput& output : given->output())
      names.insert(output.name());
  return names;
}

/// Replaces outputs by their classes, if the request asks for them.
Inference::Respond
ServedVersion::withClasses(std::vector<RequestedOutput> wanted,
                           Inference::Respond respond) {
  return [self = shared_from_this(), wanted = std::move(wanted),
          respond = std::move(respond)](InferResponse response) {
    if (response.status.isOk())
      classifyOutputs(wanted, self->given->max_batch_size() > 0, self->labels,
                      response);
    respond(std::move(response));
  };
}

/// Answers a request from the cache, if its response is in it.
bool ServedVersion::answerFromCache(Inference& inference, Progress& progress) {
  if (!cache)
    return false;
  progress.cacheKey = ResponseCache::keyOf(inference.request, number);
  const std::vector<Tensor>* const outputs = cache->find(progress.cacheKey);
  if (!outputs) {
    counts.note(InferencePhase::cacheMiss, nanosecondsSince(progress.begin));
    return false;
  }
  counts.note(InferencePhase::cacheHit, nanosecondsSince(progress.begin));
  progress.cacheKey.clear();
  inference.respond({.outputs = *outputs});
  return true;
}

/// Completes a response and counts it.
void ServedVersion::take(InferResponse& response, Progress& progress) {
  response.model = given->name();
  response.version = counts.version;
  std::erase_if(response.outputs, [&](const Tensor& tensor) {
    return !progress.outputs.contains(tensor.name);
  });
  if (isDecoupled)
    countResponse(response, progress);
  if (progress.responses == 0 && response.status.isOk() && !response.isEmpty)
    counts.note(InferencePhase::firstResponse,
                nanosecondsSince(progress.begin));
  ++progress.responses;
  if (!progress.cacheKey.empty() && response.status.isOk())
    cache->insert(progress.cacheKey, response.outputs);
  if (!response.isLast)
    return;
  countEnd(response, progress);
  if (--open == 0 && onIdle)
    std::exchange(onIdle, {})();
}

void ServedVersion::countResponse(const InferResponse& response,
                                  const Progress& progress) {
  ModelStatistics::Response& index = counts.responses[progress.responses];
  const uint64_t time = nanosecondsSince(progress.begin);
  if (response.isEmpty)
    index.emptyResponse.add(time);
  else if (response.status.isOk())
    index.success.add(time);
  else if (response.status.code() == StatusCode::cancelled)
    index.cancel.add(time);
  else
    index.fail.add(time);
}

void ServedVersion::countEnd(const InferResponse& response,
                             const Progress& progress) {
  const uint64_t time = nanosecondsSince(progress.begin);
  if (response.status.isOk())
    return counts.note(InferencePhase::request, time);
  counts.fail.add(time);
  switch (response.status.code()) {
  case StatusCode::unavailable:
    ++counts.rejected;
    break;
  case StatusCode::cancelled:
    ++counts.cancelled;
    break;
  case StatusCode::internal:
    ++counts.failedInBackend;
    break;
  default:
    ++counts.failedOther;
  }
}

void ServedVersion::whenIdle(std::function<void()> then) {
  if (open == 0)
    return then();
  onIdle = std::move(then);
}

} // namespace reciperun::server
