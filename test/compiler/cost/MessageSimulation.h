// Simulates the stages of a pipeline and their messages step by step, like the
// runtime (runtime/exec, runtime/comm/Communicator.h). It is independent of
// cost/Timeline, and checks both that and the schedule pass.

#ifndef RECIPEC_TEST_COMPILER_COST_MESSAGESIMULATION_H
#define RECIPEC_TEST_COMPILER_COST_MESSAGESIMULATION_H

#include "compiler/ir/Ir.h"

#include <random>
#include <string>
#include <vector>

namespace recipec::cost {

/// Runs the schedules `name` of all stages in an order that `chance` draws. At
/// each point one stage takes a step, or one line moves the oldest message that
/// both of its sides have begun. Messages are not buffered. The simulation
/// tracks which micro-batch wrote each slot.
///
/// Returns the first error, or an empty string: stages that wait for each
/// other, an op that reads a value of another micro-batch or before it arrives,
/// an op that overwrites a value while it is sent, or a message that is
/// received as another one.
std::string runMessages(const std::vector<ir::Module>& stages,
                        const std::string& name, std::mt19937& chance);

} // namespace recipec::cost

#endif // RECIPEC_TEST_COMPILER_COST_MESSAGESIMULATION_H
