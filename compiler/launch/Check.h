// Finds out before a launch why a target cannot run a job.

#ifndef RECIPEC_LAUNCH_CHECK_H
#define RECIPEC_LAUNCH_CHECK_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/launch/Target.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::launch {

/// A job and the recipe that it was made from, for the places of messages.
struct Subject {
  const Job& job;
  const recipe::Recipe& recipe;
};

/// Reports why the target cannot run the job.
void check(const Target& target, const Subject& subject, const Place& place,
           diag::Engine& engine);

/// Reports the first secret of `launch.env` that the environment lacks. Scripts
/// take secrets from the environment in which they are submitted. Returns
/// whether it has all.
bool hasSecrets(const Subject& subject, diag::Engine& engine);

/// Reports a point of a sweep that needs other nodes than the first one, where
/// one script runs all of them; and a layout of an elastic run that the target
/// cannot choose instead of the first one.
void checkShape(const Target& target, const Job& first, const Subject& point,
                diag::Engine& engine);

/// Warns about settings that the target takes and that probably do not do what
/// was meant.
void doubt(const Target& target, const Subject& subject, diag::Engine& engine);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_CHECK_H
