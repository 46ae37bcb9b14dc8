// The sequences that wait to start, by priority and arrival.
//
// A stream of requests of high priority must not starve requests of low
// priority. Each priority counts how often a later arrival of a higher priority
// started before its first sequence. When the count reaches `patience`, that
// sequence is promoted: it starts before all others. Of any `patience` + 1
// starts, at least one therefore goes to each priority in which sequences wait.

#ifndef RECIPERUN_SERVE_ENGINE_WAITINGQUEUE_H
#define RECIPERUN_SERVE_ENGINE_WAITINGQUEUE_H

#include "runtime/serve/engine/Sequence.h"

#include <cstddef>
#include <functional>
#include <map>

namespace reciperun::serve {

class WaitingQueue {
public:
  explicit WaitingQueue(int64_t patience) : patience(patience) {}

  bool isEmpty() const { return count == 0; }
  size_t size() const { return count; }

  /// Adds a sequence, which must outlive its time in the queue. A preempted
  /// sequence is queued by its original arrival.
  void add(Sequence& sequence);
  void remove(Sequence& sequence);
  /// The sequence that is to start next; null when the queue is empty.
  Sequence* first();
  /// The first sequence in the order of starts that satisfies `mayStart`; null
  /// when there is none. Takes time linear in the number of sequences before
  /// it.
  Sequence* find(const std::function<bool(const Sequence&)>& mayStart);
  /// Removes a sequence because it starts, and counts that others were passed
  /// over.
  void start(Sequence& sequence);

private:
  struct Level {
    std::map<RequestId, Sequence*> waiting; // never empty
    int64_t passedOver = 0; // how often the first one was passed over
  };

  int64_t patience;
  std::map<int, Level, std::greater<int>> levels; // by priority
  size_t count = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_WAITINGQUEUE_H
