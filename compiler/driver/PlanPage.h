// An HTML page about a plan: `recipec report`.

#ifndef RECIPEC_DRIVER_PLANPAGE_H
#define RECIPEC_DRIVER_PLANPAGE_H

#include "compiler/driver/Pipeline.h"

#include <string>

namespace recipec::driver {

/// A single page without external files or scripts. Shows the bounds of a step,
/// the memory of each stage by category, the timeline of each stage, the time
/// by kind of work, and the placement of ranks on nodes.
std::string planPage(const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PLANPAGE_H
