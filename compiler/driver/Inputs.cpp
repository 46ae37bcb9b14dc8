// See Inputs.h.

#include "compiler/driver/Inputs.h"

#include "compiler/files/CheckInputs.h"

#include <unistd.h>

namespace recipec::driver {

bool isForThisMachine(const recipe::Recipe& recipe) {
  if (recipe.string("cluster.hardware.kind") == "cpu")
    return true;
  // NVIDIA's driver provides this device, also in containers with GPUs.
  return access("/dev/nvidiactl", F_OK) == 0;
}

void lookForInputs(Session& session, diag::Engine& engine,
                   const recipe::Recipe& recipe,
                   const reciperun::plan::Plan& plan, bool isCertain) {
  files::Findings found =
      files::checkInputs(recipe, plan, session.folder, session.sources);
  if (isCertain)
    engine.append(found.faults);
  else
    session.doubt(found.faults, recipe);
  session.doubt(found.doubts, recipe);
}

} // namespace recipec::driver
