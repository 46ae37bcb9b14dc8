// Whether a Program fits its device, and changes that make it fit.

#ifndef RECIPEC_DRIVER_MEMORYFIT_H
#define RECIPEC_DRIVER_MEMORYFIT_H

#include "compiler/driver/Pipeline.h"

namespace recipec::driver {

/// Returns true if the program fits. Otherwise reports the largest categories
/// and buffers, and proposes changes of one or two settings. Each proposed
/// change has been compiled and fits.
bool checkFit(Session& session, diag::Engine& engine,
              const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MEMORYFIT_H
