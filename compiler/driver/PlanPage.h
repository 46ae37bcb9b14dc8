// A page in HTML about a plan: `recipec report`.

#ifndef RECIPEC_DRIVER_PLANPAGE_H
#define RECIPEC_DRIVER_PLANPAGE_H

#include "compiler/driver/Pipeline.h"

#include <string>

namespace recipec::driver {

/// One page without external files or scripts: the bounds of a step, the memory
/// of each stage by category, what each stage does when, where the time of each
/// stage goes, and which ranks are on which node.
std::string planPage(const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PLANPAGE_H
