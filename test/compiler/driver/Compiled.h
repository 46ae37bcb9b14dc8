// Compiles a recipe of Inputs/ for a test.

#ifndef RECIPEC_TEST_COMPILER_DRIVER_COMPILED_H
#define RECIPEC_TEST_COMPILER_DRIVER_COMPILED_H

#include "compiler/driver/Pipeline.h"

#include <memory>
#include <string>
#include <vector>

namespace recipec::driver {

struct Compiled {
  std::unique_ptr<Session> session;
  Compilation result;
};

/// Compiles `target`, a file of Inputs/: `tiny.recipe` or
/// `tiny.recipe:adapted`. Fails the test and returns nullopt if there are
/// diagnostics.
std::optional<Compiled> compileInput(const std::string& target,
                                     const std::vector<std::string>& sets = {});

} // namespace recipec::driver

#endif // RECIPEC_TEST_COMPILER_DRIVER_COMPILED_H
