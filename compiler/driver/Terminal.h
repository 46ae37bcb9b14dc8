// Whether messages are drawn for a terminal, and how wide that is.

#ifndef RECIPEC_DRIVER_TERMINAL_H
#define RECIPEC_DRIVER_TERMINAL_H

#include "compiler/diag/Render.h"
#include "compiler/driver/Driver.h"

namespace recipec::driver {

/// How to draw diagnostics on `invocation.err`. Standard error on a terminal
/// has colours (not with `NO_COLOR`, nor where `TERM` is `dumb`) and breaks
/// texts at the terminal's width; a file or pipe has neither, so that a message
/// is one line. No variable of the environment changes what a plan means, only
/// its looks.
diag::RenderOptions renderOptions(const Invocation& invocation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_TERMINAL_H
