// A help that proposes a change is printed where the change helps.

#ifndef RECIPEC_DRIVER_PROPOSALS_H
#define RECIPEC_DRIVER_PROPOSALS_H

#include "compiler/driver/Session.h"

namespace recipec::driver {

/// Compiles the session's recipes anew under what its diagnostics propose. Of
/// their proposals the first that has a way out becomes a help, with the ways
/// that leave no error; a fix-it under which the recipe errs there still is
/// dropped, and the help that asks for it. The diagnostics are arranged.
void tryProposals(Session& session);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PROPOSALS_H
