// What pods cannot run.

#ifndef RECIPEC_LAUNCH_KUBERNETES_CHECK_H
#define RECIPEC_LAUNCH_KUBERNETES_CHECK_H

#include "compiler/launch/Check.h"

namespace recipec::launch {

/// Reports a job that its pods cannot run, or whose results they would lose.
void checkPods(const Target& target, const Subject& subject,
               diag::Engine& engine);

/// Warns about files that no volume of the pods holds.
void doubtPaths(const Subject& subject, diag::Engine& engine);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_CHECK_H
