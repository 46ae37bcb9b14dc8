// The lines of messages between stages: which of them go one behind the other.

#ifndef RECIPEC_PASSES_SCHEDULE_CHANNELS_H
#define RECIPEC_PASSES_SCHEDULE_CHANNELS_H

#include "compiler/ir/Ir.h"

#include <vector>

namespace recipec::passes {

/// Gives every transfer its line, by the schedules of both sides. A line is a
/// connection between GPUs, which takes memory of theirs.
void assignChannels(std::vector<ir::Module>& stages);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_CHANNELS_H
