// See StopSignal.h.

#include "runtime/base/StopSignal.h"

#include <csignal>
#include <initializer_list>

namespace reciperun {
namespace {

/// A signal handler may only access a variable of this type (C++
/// [support.signal]).
volatile std::sig_atomic_t received = 0;

void note(int number) {
  received = number;
}

void handleBy(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART; // library calls do not fail with EINTR
  for (int number : {SIGTERM, SIGINT, SIGUSR1})
    sigaction(number, &action, nullptr);
}

} // namespace

void watchStopSignals() {
  handleBy(note);
}

void releaseStopSignals() {
  handleBy(SIG_DFL);
}

int stopSignal() {
  return received;
}

Status checkStopSignal() {
  if (received == 0)
    return {};
  return Status::error("ended by signal " + std::to_string(received));
}

} // namespace reciperun
