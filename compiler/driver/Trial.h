// Compilations with other settings, to propose changes that are known to work.

#ifndef RECIPEC_DRIVER_TRIAL_H
#define RECIPEC_DRIVER_TRIAL_H

#include "compiler/driver/Pipeline.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// Compiles the session's recipe with the settings, `parallel.tp=2`. Reports
/// nothing and verifies no pass. Returns nullopt if the recipe is then invalid.
std::optional<Compilation>
compileTrial(Session& session, const std::vector<std::string>& settings);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_TRIAL_H
