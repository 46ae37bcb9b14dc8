// Names of the kinds of schedule entries.

#include "runtime/ops/ScheduleKinds.h"

#include <cstddef>
#include <iterator>

namespace reciperun::ops {
namespace {

// In the order of the enumerators.
constexpr const char* stepNames[] = {"load", "run", "send", "receive", "wait"};
constexpr const char* transferNames[] = {"send", "receive"};

template <class Kind, size_t count>
std::optional<Kind> find(const char* const (&names)[count],
                         std::string_view name) {
  for (size_t i = 0; i < count; ++i)
    if (names[i] == name)
      return Kind(i);
  return std::nullopt;
}

} // namespace

const char* nameOf(ScheduleStepKind kind) {
  return stepNames[size_t(kind)];
}

const char* nameOf(TransferKind kind) {
  return transferNames[size_t(kind)];
}

std::optional<ScheduleStepKind> findStepKind(std::string_view name) {
  return find<ScheduleStepKind>(stepNames, name);
}

std::optional<TransferKind> findTransferKind(std::string_view name) {
  return find<TransferKind>(transferNames, name);
}

} // namespace reciperun::ops
