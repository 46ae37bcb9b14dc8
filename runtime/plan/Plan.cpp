// Sizes, names and attributes of a plan's parts.

#include "runtime/plan/Plan.h"

#include <algorithm>

namespace reciperun::plan {
Plan select(Plan plan, int stage) {
  if (!plan.stages.empty())
    static_cast<Stage&>(plan) = plan.stages[size_t(stage)];
  plan.stage = stage;
  for (Parameter& parameter : plan.parameters)
    parameter.value = parameter.gradient = -1;
  for (const Holding& holding : plan.holdings) {
    Parameter& held = plan.parameters[size_t(holding.parameter)];
    held.value = holding.value;
    held.gradient = holding.gradient;
  }
  return plan;
}

/// Of a source, or of one of those that are blended in it.
template <class Holds>
static bool holdsFor(const std::optional<DataSource>& source, Holds holds) {
  return source &&
         (holds(*source) ||
          std::any_of(source->sources.begin(), source->sources.end(), holds));
}

bool readsText(const Data& data) {
  auto isText = [](const DataSource& source) {
    return source.kind == "jsonl" || source.kind == "text";
  };
  return holdsFor(data.train, isText) || holdsFor(data.valid, isText);
}

bool readsMessages(const Data& data) {
  return holdsFor(data.train, [](const DataSource& source) {
    return !source.messages.empty();
  });
}

} // namespace reciperun::plan
