// Environment variables that configure the libraries of devices, for settings
// without another interface. A library reads them on its first call.
//
// The folder that opens a library lists the variables that it needs. The
// command sets them before it starts MPI, a thread or a driver, because
// setenv() is not safe while another thread reads the environment.

#ifndef RECIPERUN_DEVICE_ENVIRONMENT_H
#define RECIPERUN_DEVICE_ENVIRONMENT_H

#include <span>
#include <string>

namespace reciperun::device {

struct Variable {
  enum class Wins { user, program };

  const char* name;
  std::string value;
  Wins wins; // whose value counts when the user has set it too
};

/// Sets the variables. Must be called while the process has only one thread.
void setEnvironment(std::span<const Variable> variables);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_ENVIRONMENT_H
