// The links of messages between stages: which of them go one behind the other.

#ifndef RECIPEC_PASSES_SCHEDULE_LINKS_H
#define RECIPEC_PASSES_SCHEDULE_LINKS_H

#include "compiler/ir/Ir.h"

#include <vector>

namespace recipec::passes {

/// Gives every transfer its link, by the schedules of both sides. A link is a
/// connection between GPUs, which takes memory of theirs.
void assignLinks(std::vector<ir::Module>& stages);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_LINKS_H
