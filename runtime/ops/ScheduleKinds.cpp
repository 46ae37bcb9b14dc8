// Names of the kinds of schedule entries.

#include "runtime/ops/ScheduleKinds.h"

#include "runtime/ops/FindName.h"

namespace reciperun::ops {
namespace {

// In the order of the enumerators.
constexpr const char* stepNames[] = {"load", "run", "send", "receive", "wait"};
constexpr const char* transferNames[] = {"send", "receive"};

} // namespace

const char* nameOf(ScheduleStepKind kind) {
  return stepNames[size_t(kind)];
}

const char* nameOf(TransferKind kind) {
  return transferNames[size_t(kind)];
}

std::optional<ScheduleStepKind> findStepKind(std::string_view name) {
  return findName<ScheduleStepKind>(stepNames, name);
}

std::optional<TransferKind> findTransferKind(std::string_view name) {
  return findName<TransferKind>(transferNames, name);
}

} // namespace reciperun::ops
