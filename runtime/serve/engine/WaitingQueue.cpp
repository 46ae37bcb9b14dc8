// See WaitingQueue.h. All operations but find() take time in the number of
// priorities.

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

Sequence*
WaitingQueue::find(const std::function<bool(const Sequence&)>& mayStart) {
  if (Sequence* next = first(); next && mayStart(*next))
    return next;
  for (auto& [priority, level] : levels)
    for (auto& [id, sequence] : level.waiting)
      if (mayStart(*sequence))
        return sequence;
  return nullptr;
}

void WaitingQueue::start(Sequence& sequence) {
  for (auto& [priority, level] : levels) {
    Sequence* head = level.waiting.begin()->second;
    if (priority < sequence.priority && head->id < sequence.id &&
        ++level.passedOver >= patience)
      head->isPromoted = true;
  }
  remove(sequence);
}

} // namespace reciperun::serve
