// The sequences that wait for their start, by priority and arrival.
//
// A stream of requests of high priority must not keep one of low priority
// waiting forever. Each priority counts how often a later arrival of a higher
// priority was preferred to its first sequence. When the count reaches
// `patience`, that sequence is promoted: it is the next one of all. Of
// `patience` + 1 starts at least one therefore goes to each priority in which
// sequences wait.

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

  /// Adds a sequence, which must outlive its time in the queue. One that was
  /// preempted takes its place by its arrival.
  void add(Sequence& sequence);
  void remove(Sequence& sequence);
  /// The sequence that is to start next; null when the queue is empty.
  Sequence* first();
  /// The next one that may start; null when there is none. Takes time in the
  /// number of sequences before it.
  Sequence* find(const std::function<bool(const Sequence&)>& mayStart);
  /// Removes a sequence because it starts, and counts that it was preferred to
  /// others.
  void start(Sequence& sequence);

private:
  struct Level {
    std::map<RequestId, Sequence*> waiting; // never empty
    int64_t passedOver = 0;                 // the first one
  };

  int64_t patience;
  std::map<int, Level, std::greater<int>> levels; // by priority
  size_t count = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_WAITINGQUEUE_H
