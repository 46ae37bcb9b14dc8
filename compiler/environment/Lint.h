// Findings on the environment of ranks: variables that do nothing, are
// outdated, harm, or contradict each other.

#ifndef RECIPEC_ENVIRONMENT_LINT_H
#define RECIPEC_ENVIRONMENT_LINT_H

#include "compiler/diag/Diagnostic.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::environment {

/// A variable of a recipe or a manifest.
struct Variable {
  std::string name;
  std::optional<std::string> value = {}; // nullopt: a secret, or from elsewhere
  SourceRange range;                     // of the name, or else of the value
  SourceRange valueRange = {};           // with its quotes; invalid: no fix-its
};

/// What is known about the ranks that have the variables.
struct Ranks {
  bool hasSeveralNodes = false;
  bool hasEfa = false;   // AWS EFA adapters
  bool hasPython = true; // PyTorch may read its own variables
};

/// Reports the findings on variables of NCCL and its plugins, each with the
/// true default. Other variables are ignored, unless they disturb NCCL.
void lint(const std::vector<Variable>& variables, const Ranks& ranks,
          diag::Engine& engine);

} // namespace recipec::environment

#endif // RECIPEC_ENVIRONMENT_LINT_H
