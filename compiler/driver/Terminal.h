// Whether messages go to a terminal, and its width.

#ifndef RECIPEC_DRIVER_TERMINAL_H
#define RECIPEC_DRIVER_TERMINAL_H

#include "compiler/diag/Render.h"
#include "compiler/driver/Driver.h"

namespace recipec::driver {

/// How to draw diagnostics on `invocation.err`. On a terminal, standard error
/// has colours (unless `NO_COLOR` is set or `TERM` is `dumb`) and texts wrap at
/// the terminal's width. A file or pipe gets neither, so each message is one
/// line. Environment variables never change a plan, only the output's
/// appearance.
diag::RenderOptions renderOptions(const Invocation& invocation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_TERMINAL_H
