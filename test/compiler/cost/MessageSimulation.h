// The stages of a pipeline and their messages, step by step, as the runtime
// carries them out (runtime/exec, runtime/comm/Communicator.h): apart from
// cost/Timeline, to check it and what the schedule pass makes.

#ifndef RECIPEC_TEST_COMPILER_COST_MESSAGESIMULATION_H
#define RECIPEC_TEST_COMPILER_COST_MESSAGESIMULATION_H

#include "compiler/ir/Ir.h"

#include <random>
#include <string>
#include <vector>

namespace recipec::cost {

/// Runs the schedules `name` of all stages in an order that `chance` draws:
/// each time one stage takes a step, or one line moves the oldest message that
/// both of its sides have begun. No message is buffered, and what a slot holds
/// is followed: the micro-batch that wrote it.
///
/// Gives what went wrong first, empty where nothing did: stages that wait for
/// one another, an op that reads what another micro-batch left or what has not
/// arrived, an op that overwrites what is being sent, a message that is
/// received as another one.
std::string runMessages(const std::vector<ir::Module>& stages,
                        const std::string& name, std::mt19937& chance);

} // namespace recipec::cost

#endif // RECIPEC_TEST_COMPILER_COST_MESSAGESIMULATION_H
