// SIGTERM and SIGINT as a question that the loop asks between two steps.

#include "runtime/train/StopSignal.h"

#include <csignal>

namespace reciperun::train {
namespace {

/// A handler can reach nothing but such a variable (C++ [support.signal]).
volatile std::sig_atomic_t received = 0;

void note(int number) {
  received = number;
}

} // namespace

void watchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART; // no call of a library fails for it
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
}

int stopSignal() {
  return received;
}

} // namespace reciperun::train
