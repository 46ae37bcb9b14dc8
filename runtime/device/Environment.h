// Variables of the environment that libraries of devices read when they are
// first called, where they have no other interface.
//
// A folder that opens such a library says which variables it needs; the command
// sets them, before it starts MPI, a thread or a driver: setenv() is not safe
// beside a thread that reads the environment.

#ifndef RECIPERUN_DEVICE_ENVIRONMENT_H
#define RECIPERUN_DEVICE_ENVIRONMENT_H

#include <span>
#include <string>

namespace reciperun::device {

struct Variable {
  enum class Wins { user, program };

  const char* name;
  std::string value;
  Wins wins; // whose value counts where the user has set the variable
};

/// Called by a program's entry, while the process has one thread.
void setEnvironment(std::span<const Variable> variables);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_ENVIRONMENT_H
