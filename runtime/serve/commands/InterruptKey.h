// Turns Ctrl-C into a flag, for programs that stop an operation and continue.

#ifndef RECIPERUN_SERVE_COMMANDS_INTERRUPTKEY_H
#define RECIPERUN_SERVE_COMMANDS_INTERRUPTKEY_H

namespace reciperun::serve {

/// While an object lives, SIGINT sets the flag instead of ending the process,
/// and calls that block, such as `read`, fail with EINTR. One object at a time.
class InterruptKey {
public:
  InterruptKey();
  ~InterruptKey();
  InterruptKey(const InterruptKey&) = delete;
  InterruptKey& operator=(const InterruptKey&) = delete;

  /// Whether SIGINT has arrived since the last call of clear().
  bool isPressed() const;
  void clear();
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_INTERRUPTKEY_H
