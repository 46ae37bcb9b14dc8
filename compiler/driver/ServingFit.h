// Checks whether a server's memory holds the longest sequence, and proposes
// changes if it does not.

#ifndef RECIPEC_DRIVER_SERVINGFIT_H
#define RECIPEC_DRIVER_SERVINGFIT_H

#include "compiler/driver/Pipeline.h"

namespace recipec::driver {

/// Returns true if the program fits the device and its cache holds a sequence
/// of `data.sequence` tokens. Otherwise reports the bytes of both, and proposes
/// changes. Each proposed change of the recipe has been compiled and fits.
bool checkServingFit(Session& session, diag::Engine& engine,
                     const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SERVINGFIT_H
