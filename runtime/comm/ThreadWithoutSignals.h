// Threads that take no signals. The thread that executes the plan handles them.

#ifndef RECIPERUN_COMM_THREADWITHOUTSIGNALS_H
#define RECIPERUN_COMM_THREADWITHOUTSIGNALS_H

#include <csignal>
#include <thread>
#include <utility>

namespace reciperun::comm {

/// Starts a thread with all signals blocked.
template <class Body> std::thread threadWithoutSignals(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_THREADWITHOUTSIGNALS_H
