// Tests proposed changes, so that a help is printed only if it works.

#ifndef RECIPEC_DRIVER_PROPOSALS_H
#define RECIPEC_DRIVER_PROPOSALS_H

#include "compiler/driver/Session.h"

namespace recipec::driver {

/// Compiles the session's recipes with the changes that its diagnostics
/// propose. The first proposal of a diagnostic with a working alternative
/// becomes a help, which lists the alternatives that leave no error. A fix-it
/// is dropped with its help if the recipe still has an error there. The
/// diagnostics must be arranged.
void tryProposals(Session& session);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PROPOSALS_H
