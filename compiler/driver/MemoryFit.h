// Whether a Program fits its device, and what would make it fit.

#ifndef RECIPEC_DRIVER_MEMORYFIT_H
#define RECIPEC_DRIVER_MEMORYFIT_H

#include "compiler/driver/Pipeline.h"

namespace recipec::driver {

/// True when it fits. Otherwise reports the largest categories and buffers, and
/// changes of one or two settings each of which has been compiled and fits.
bool checkFit(Session& session, diag::Engine& engine,
              const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MEMORYFIT_H
