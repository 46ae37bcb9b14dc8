// See WaitingQueue.h. All operations take time in the number of priorities.

#include "runtime/serve/engine/WaitingQueue.h"

#include <cassert>

namespace reciperun::serve {

void WaitingQueue::add(Sequence& sequence) {
  levels[sequence.priority].waiting.emplace(sequence.id, &sequence);
  ++count;
}

void WaitingQueue::remove(Sequence& sequence) {
  auto level = levels.find(sequence.priority);
  assert(level != levels.end() && "the sequence waits");
  auto& waiting = level->second.waiting;
  if (waiting.begin()->second == &sequence)
    level->second.passedOver = 0;
  waiting.erase(sequence.id);
  --count;
  if (waiting.empty())
    levels.erase(level);
}

Sequence* WaitingQueue::first() {
  Sequence* best = nullptr;
  for (auto& [priority, level] : levels) {
    Sequence* head = level.waiting.begin()->second;
    if (!best || head->precedes(*best))
      best = head;
  }
  return best;
}

void WaitingQueue::start() {
  Sequence* started = first();
  assert(started && "a sequence that waits starts");
  for (auto& [priority, level] : levels) {
    Sequence* head = level.waiting.begin()->second;
    if (priority < started->priority && head->id < started->id &&
        ++level.passedOver >= patience)
      head->isPromoted = true;
  }
  remove(*started);
}

} // namespace reciperun::serve
