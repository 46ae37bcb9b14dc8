// See RequestQueue.h.

#include "runtime/server/schedule/RequestQueue.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {

RequestQueue::RequestQueue(BatchSettings given)
    : settings(std::move(given)), lines(settings.policies.size()) {}

Status RequestQueue::push(WaitingRequest request) {
  const InferRequest& asked = request.inference->request;
  const bool hasLevel = asked.priority >= 1 && asked.priority <= lines.size();
  const size_t level =
      (hasLevel ? size_t(asked.priority) : settings.defaultPriority) - 1;
  const QueuePolicy& policy = settings.policies[level];
  if (policy.mostWaiting > 0 && lines[level].size() >= policy.mostWaiting)
    return Status::error("Exceeds maximum queue size", StatusCode::unavailable);
  std::chrono::microseconds timeout = policy.timeout;
  if (const std::chrono::microseconds own(asked.timeoutMicroseconds);
      policy.allowsOverride && own.count() > 0 &&
      (timeout.count() == 0 || own < timeout))
    timeout = own;
  Waiting waiting{.request = std::move(request), .deadline = {}};
  if (timeout.count() > 0) {
    waiting.deadline = waiting.request.arrival + timeout;
    deadlines.insert(*waiting.deadline);
  }
  lines[level].push_back(std::move(waiting));
  return Status::ok();
}

Batch RequestQueue::takeEnded(Time now) {
  delayLate(now);
  Batch ended;
  const auto take = [&](Line& line) {
    std::erase_if(line, [&](Waiting& each) {
      const bool isLate = each.deadline && *each.deadline <= now;
      const bool hasEnded = isLate || each.request.inference->isCancelled();
      if (hasEnded) {
        forget(each);
        ended.push_back(std::move(each.request));
      }
      return hasEnded;
    });
  };
  for (Line& line : lines)
    take(line);
  take(late);
  return ended;
}

/// Moves late requests behind all others if the policy of their priority says
/// so.
void RequestQueue::delayLate(Time now) {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!settings.policies[i].delaysLate)
      continue;
    const auto first = std::stable_partition(
        lines[i].begin(), lines[i].end(), [&](const Waiting& each) {
          return !each.deadline || *each.deadline > now;
        });
    for (auto each = first; each != lines[i].end(); ++each) {
      forget(*each);
      each->deadline.reset();
      late.push_back(std::move(*each));
    }
    lines[i].erase(first, lines[i].end());
  }
}

/// Forgets the deadline of a request that leaves its queue.
void RequestQueue::forget(const Waiting& waiting) {
  if (waiting.deadline)
    deadlines.erase(deadlines.find(*waiting.deadline));
}

std::vector<const RequestQueue::Waiting*>
RequestQueue::firstWaiting(size_t most) const {
  std::vector<const Waiting*> first;
  const auto take = [&](const Line& line) {
    for (size_t i = 0; i < line.size() && first.size() < most; ++i)
      first.push_back(&line[i]);
  };
  for (const Line& line : lines)
    take(line);
  take(late);
  return first;
}

bool RequestQueue::fitsTogether(const InferRequest& first,
                                const InferRequest& other) const {
  if (first.inputs.size() != other.inputs.size())
    return false;
  return std::ranges::all_of(first.inputs, [&](const Tensor& tensor) {
    const auto same =
        std::ranges::find(other.inputs, tensor.name, &Tensor::name);
    if (same == other.inputs.end() || same->shape.size() != tensor.shape.size())
      return false;
    // The first dimension is the batch dimension, which may differ.
    return settings.raggedInputs.contains(tensor.name) ||
           tensor.shape.empty() ||
           std::equal(tensor.shape.begin() + 1, tensor.shape.end(),
                      same->shape.begin() + 1);
  });
}

/// The number of waiting requests to send now.
size_t RequestQueue::sizeOfBatch(const std::vector<const Waiting*>& waiting,
                                 Time now) const {
  if (!settings.isDynamic)
    return std::min<size_t>(1, waiting.size());
  int64_t elements = 0;
  size_t taken = 0, preferred = 0;
  bool isCut = false; // no larger batch is possible, however long it waits
  while (taken < waiting.size() && !isCut) {
    const WaitingRequest& each = waiting[taken]->request;
    isCut = elements + each.elements > settings.mostInBatch ||
            !fitsTogether(waiting[0]->request.inference->request,
                          each.inference->request);
    if (isCut)
      break;
    elements += each.elements;
    ++taken;
    if (settings.preferredSizes.contains(elements))
      preferred = taken;
    isCut = elements == settings.mostInBatch;
  }
  if (preferred > 0)
    return preferred;
  const bool waits = settings.mostDelay.count() > 0 && !isCut && taken > 0 &&
                     now < waiting[0]->request.arrival + settings.mostDelay;
  return waits ? 0 : taken;
}

Batch RequestQueue::takeBatch(Time now) {
  // A request has at least one element, so no batch has more than `mostInBatch`
  // requests.
  return removeFirst(
      sizeOfBatch(firstWaiting(size_t(settings.mostInBatch) + 1), now));
}

Batch RequestQueue::removeFirst(size_t count) {
  Batch batch;
  const auto take = [&](Line& line) {
    while (batch.size() < count && !line.empty()) {
      forget(line.front());
      batch.push_back(std::move(line.front().request));
      line.pop_front();
    }
  };
  for (Line& line : lines)
    take(line);
  take(late);
  return batch;
}

std::optional<Time> RequestQueue::nextEvent(Time now) const {
  std::optional<Time> next;
  if (!deadlines.empty())
    next = *deadlines.begin();
  const std::vector<const Waiting*> first = firstWaiting(1);
  if (first.empty() || settings.mostDelay.count() == 0)
    return next;
  const Time due = first[0]->request.arrival + settings.mostDelay;
  return due > now && (!next || due < *next) ? due : next;
}

size_t RequestQueue::size() const {
  size_t all = late.size();
  for (const Line& line : lines)
    all += line.size();
  return all;
}

} // namespace reciperun::server
