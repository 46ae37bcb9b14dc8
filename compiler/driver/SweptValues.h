// Values of a sweep's axis at which no point compiles.

#ifndef RECIPEC_DRIVER_SWEPTVALUES_H
#define RECIPEC_DRIVER_SWEPTVALUES_H

#include "compiler/driver/Session.h"

namespace recipec::driver {

/// If all points with one value of an axis have an error at the value, and
/// those with another value have none, the help is to remove the value. It
/// replaces proposed changes that would repeat other values of the axis. The
/// diagnostics must be arranged.
void helpWithSweptValues(Session& session);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SWEPTVALUES_H
