// The stack of the thread that executes the plan, for reports of hangs.

#ifndef RECIPERUN_COMM_STACKTRACE_H
#define RECIPERUN_COMM_STACKTRACE_H

#include <pthread.h>

#include <string>
#include <vector>

namespace reciperun::comm {

/// Reads the stack of the thread that has made it. At most one object exists at
/// a time; it uses the signal SIGRTMAX - 1, whose handler interrupts that
/// thread.
class StackTrace {
public:
  StackTrace();
  StackTrace(const StackTrace&) = delete;
  StackTrace& operator=(const StackTrace&) = delete;
  ~StackTrace();

  /// The functions, innermost first: `name` or, without a name, `file+0x1f`.
  /// Empty if the thread does not respond within a second. Called from another
  /// thread.
  std::vector<std::string> read() const;

private:
  pthread_t thread;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_STACKTRACE_H
