// The kinds of schedule entries.

#ifndef RECIPERUN_OPS_SCHEDULEKINDS_H
#define RECIPERUN_OPS_SCHEDULEKINDS_H

#include <optional>
#include <string_view>

namespace reciperun::ops {

/// Fill the inputs of a micro-batch, run a function on it, start to send or to
/// receive one of its values, or wait until a transfer is done.
enum class ScheduleStepKind { load, run, send, receive, wait };

/// The side of a transfer that a stage is on.
enum class TransferKind { send, receive };

const char* nameOf(ScheduleStepKind kind);
const char* nameOf(TransferKind kind);
std::optional<ScheduleStepKind> findStepKind(std::string_view name);
std::optional<TransferKind> findTransferKind(std::string_view name);

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_SCHEDULEKINDS_H
