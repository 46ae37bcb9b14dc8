// See InterruptKey.h.

#include "runtime/serve/commands/InterruptKey.h"

#include <csignal>

namespace reciperun::serve {
namespace {

/// A signal handler may only access a variable of this type (C++
/// [support.signal]).
volatile std::sig_atomic_t pressed = 0;

void notePressed(int) {
  pressed = 1;
}

void handleInterrupt(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler; // without SA_RESTART
  sigaction(SIGINT, &action, nullptr);
}

} // namespace

InterruptKey::InterruptKey() {
  clear();
  handleInterrupt(notePressed);
}

InterruptKey::~InterruptKey() {
  handleInterrupt(SIG_DFL);
}

bool InterruptKey::isPressed() const {
  return pressed != 0;
}

void InterruptKey::clear() {
  pressed = 0;
}

} // namespace reciperun::serve
