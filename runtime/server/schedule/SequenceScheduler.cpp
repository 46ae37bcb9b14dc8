// See SequenceScheduler.h.

#include "runtime/server/schedule/SequenceScheduler.h"

#include "runtime/server/models/RequestCheck.h"
#include "runtime/server/schedule/BatchAnswers.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace reciperun::server {
namespace {

Time now() {
  return std::chrono::steady_clock::now();
}

bool isNone(const SequenceId& id) {
  const auto* const number = std::get_if<uint64_t>(&id);
  return number ? *number == 0 : std::get<std::string>(id).empty();
}

std::string textOf(const SequenceId& id) {
  const auto* const number = std::get_if<uint64_t>(&id);
  return number ? std::to_string(*number) : std::get<std::string>(id);
}

Status invalidSequence(const std::string& message) {
  return Status::error(message, StatusCode::invalidArgument);
}

Status noStart(const InferRequest& request, const std::string& model) {
  return invalidSequence("inference request for sequence " +
                         textOf(request.sequence) + " to model '" + model +
                         "' must specify the START flag on the first request "
                         "of the sequence");
}

/// A sequence id as the data of a type, cut to its size.
std::string dataOf(const SequenceId& id, DataType type) {
  std::string data;
  if (type == DataType::bytes) {
    appendBytes(data, textOf(id));
    return data;
  }
  const auto* const number = std::get_if<uint64_t>(&id);
  const uint64_t value = number ? *number : 0;
  data.assign(reinterpret_cast<const char*>(&value), bytesOf(type));
  return data;
}

} // namespace

SequenceScheduler::SequenceScheduler(EventLoop& loop, RateLimiter& limiter,
                                     SequenceSettings given,
                                     ModelInstances::Settings instances,
                                     ModelStatistics& statistics)
    : loop(loop), settings(std::move(given)), statistics(statistics),
      instances(loop, limiter, std::move(instances), [this] { dispatch(); }) {}

SequenceScheduler::~SequenceScheduler() {
  *isAlive = false;
}

// ---- requests

void SequenceScheduler::enqueue(std::shared_ptr<Inference> inference,
                                int64_t elements) {
  Inference& asked = *inference;
  const InferRequest& request = asked.request;
  if (const Status checked = check(request, elements); !checked.isOk())
    return asked.fail(withRequestId(checked, request));
  const auto [place, isNew] = sequences.try_emplace(request.sequence);
  Sequence& sequence = place->second;
  if (isNew)
    backlog.push_back(request.sequence);
  sequence.lastUse = now();
  sequence.takesMore = !request.isSequenceEnd;
  sequence.waiting.push_back({.inference = std::move(inference),
                              .elements = 1,
                              .arrival = sequence.lastUse});
  asked.whenCancelled([this, alive = isAlive] {
    if (*alive)
      endCancelled();
  });
  activate();
  dispatch();
}

Status SequenceScheduler::check(const InferRequest& request,
                                int64_t elements) const {
  const std::string model = "inference request to model '" + settings.model;
  if (elements != 1)
    return invalidSequence(model + "' must specify batch-size 1 due to "
                                   "requirements of sequence batcher");
  if (isNone(request.sequence))
    return invalidSequence(
        model + "' must specify a non-zero or non-empty correlation ID");
  if (request.isSequenceStart)
    return Status::ok();
  const auto found = sequences.find(request.sequence);
  if (found == sequences.end() || !found->second.takesMore)
    return noStart(request, settings.model);
  return Status::ok();
}

/// Activates sequences of the backlog as long as the limit allows.
void SequenceScheduler::activate() {
  while (active < settings.mostActive && !backlog.empty()) {
    const auto next = sequences.find(backlog.front());
    backlog.pop_front();
    if (next == sequences.end() || next->second.isActive)
      continue;
    next->second.isActive = true;
    ++active;
  }
}

void SequenceScheduler::dispatch() {
  endIdle(now());
  while (instances.hasFree()) {
    Batch batch = takeBatch(now());
    if (batch.empty())
      break;
    instances.run(std::move(batch),
                  [this](const Batch& finished, Execution execution) {
                    finish(finished, std::move(execution));
                  });
  }
  statistics.pending = 0;
  for (const auto& [id, sequence] : sequences)
    statistics.pending += sequence.waiting.size();
  setTimer();
}

/// The active sequences with a request that can be answered, the longest
/// waiting one first.
std::vector<SequenceScheduler::Sequences::iterator>
SequenceScheduler::readySequences() {
  std::vector<Sequences::iterator> ready;
  for (auto each = sequences.begin(); each != sequences.end(); ++each)
    if (each->second.isActive && !each->second.isRunning &&
        !each->second.waiting.empty())
      ready.push_back(each);
  std::ranges::stable_sort(ready, {}, [](const auto& each) {
    return each->second.waiting.front().arrival;
  });
  return ready;
}

Batch SequenceScheduler::takeBatch(Time time) {
  std::vector<Sequences::iterator> ready = readySequences();
  if (ready.empty())
    return {};
  const auto count = std::min(int64_t(ready.size()), settings.mostInBatch);
  int64_t size = count;
  if (const auto above = settings.preferredSizes.upper_bound(count);
      above != settings.preferredSizes.begin())
    size = *std::prev(above);
  else if (count < settings.leastInBatch &&
           time < ready[0]->second.waiting.front().arrival + settings.mostDelay)
    return {};
  Batch batch;
  for (int64_t i = 0; i < size; ++i)
    batch.push_back(takeRequest(ready[size_t(i)]->second));
  return batch;
}

WaitingRequest SequenceScheduler::takeRequest(Sequence& sequence) {
  WaitingRequest next = std::move(sequence.waiting.front());
  sequence.waiting.pop_front();
  sequence.isRunning = true;
  addControls(next.inference->request);
  addStates(next.inference->request, sequence);
  return next;
}

void SequenceScheduler::addControls(InferRequest& request) const {
  using Kind = SequenceControl::Kind;
  for (const SequenceControl& control : settings.controls) {
    Tensor tensor{
        .name = control.input, .type = control.type, .shape = {1}, .data = {}};
    if (settings.batches)
      tensor.shape.push_back(1);
    if (control.kind == Kind::id) {
      tensor.data = dataOf(request.sequence, control.type);
    } else {
      const bool isYes =
          control.kind == Kind::ready ||
          (control.kind == Kind::start && request.isSequenceStart) ||
          (control.kind == Kind::end && request.isSequenceEnd);
      tensor.data = isYes ? control.yes : control.no;
    }
    request.inputs.push_back(std::move(tensor));
  }
}

void SequenceScheduler::addStates(InferRequest& request,
                                  Sequence& sequence) const {
  if (request.isSequenceStart || sequence.states.empty()) {
    sequence.states.clear();
    for (const SequenceState& state : settings.states) {
      Tensor& initial = sequence.states.emplace_back(state.initial);
      if (settings.batches)
        initial.shape.insert(initial.shape.begin(), 1);
    }
  }
  request.inputs.insert(request.inputs.end(), sequence.states.begin(),
                        sequence.states.end());
}

// ---- answers

void SequenceScheduler::finish(const Batch& batch, Execution execution) {
  std::vector<SequenceId> ids;
  for (size_t i = 0; i < batch.size(); ++i) {
    ids.push_back(batch[i].inference->request.sequence);
    Sequence& sequence = sequences[ids.back()];
    sequence.isRunning = false;
    sequence.lastUse = now();
    if (execution.answers[i])
      keepStates(sequence, *execution.answers[i]);
  }
  answerBatch(batch, std::move(execution), statistics);
  for (const SequenceId& id : ids)
    if (const auto found = sequences.find(id);
        found != sequences.end() && !found->second.takesMore &&
        found->second.waiting.empty() && !found->second.isRunning)
      erase(found);
  activate();
}

/// Keeps the states for the next request. Removes them from the outputs, unless
/// they are outputs too.
void SequenceScheduler::keepStates(Sequence& sequence,
                                   std::vector<Tensor>& outputs) const {
  for (size_t i = 0; i < settings.states.size(); ++i) {
    const SequenceState& state = settings.states[i];
    const auto output = std::ranges::find(outputs, state.output, &Tensor::name);
    if (output == outputs.end())
      continue;
    sequence.states[i] = *output;
    sequence.states[i].name = state.input;
    if (!state.isOutput)
      outputs.erase(output);
  }
}

void SequenceScheduler::erase(Sequences::iterator sequence) {
  active -= sequence->second.isActive;
  sequences.erase(sequence);
}

/// Ends the sequences of cancelled requests: all their waiting requests fail.
void SequenceScheduler::endCancelled() {
  Batch ended;
  for (auto each = sequences.begin(); each != sequences.end();) {
    const auto sequence = each++;
    auto& waiting = sequence->second.waiting;
    if (std::ranges::none_of(waiting, [](const WaitingRequest& request) {
          return request.inference->isCancelled();
        }))
      continue;
    std::ranges::move(waiting, std::back_inserter(ended));
    waiting.clear();
    sequence->second.takesMore = false;
    if (!sequence->second.isRunning)
      erase(sequence);
  }
  for (const WaitingRequest& each : ended)
    each.inference->fail(
        Status::error("Request has been cancelled", StatusCode::cancelled));
  activate();
  dispatch();
}

void SequenceScheduler::endIdle(Time time) {
  for (auto each = sequences.begin(); each != sequences.end();) {
    const auto sequence = each++;
    if (sequence->second.waiting.empty() && !sequence->second.isRunning &&
        time >= sequence->second.lastUse + settings.mostIdle)
      erase(sequence);
  }
  activate();
}

/// Sets the timer to the next end of an idle timeout or of a delay.
void SequenceScheduler::setTimer() {
  std::optional<Time> next;
  for (const auto& [id, sequence] : sequences) {
    if (sequence.isRunning)
      continue;
    const Time due =
        sequence.waiting.empty()
            ? sequence.lastUse + settings.mostIdle
            : sequence.waiting.front().arrival + settings.mostDelay;
    if (due > now() && (!next || due < *next))
      next = due;
  }
  if (!next || (timer && *timer <= *next))
    return;
  timer = next;
  loop.runAfter(std::chrono::ceil<std::chrono::microseconds>(*next - now()),
                [this, alive = isAlive, due = *next] {
                  if (!*alive)
                    return;
                  if (timer == due)
                    timer.reset();
                  dispatch();
                });
}

} // namespace reciperun::server
