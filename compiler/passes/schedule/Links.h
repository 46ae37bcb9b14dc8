// The links of messages between stages. Messages of a link are sequential.

#ifndef RECIPEC_PASSES_SCHEDULE_LINKS_H
#define RECIPEC_PASSES_SCHEDULE_LINKS_H

#include "compiler/ir/Ir.h"

#include <vector>

namespace recipec::passes {

/// Assigns a link to every transfer, from the schedules of both sides. A link
/// is a connection between GPUs and takes memory on both.
void assignLinks(std::vector<ir::Module>& stages);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_LINKS_H
