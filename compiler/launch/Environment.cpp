// See Environment.h.

#include "compiler/launch/Environment.h"

#include "compiler/environment/Lint.h"
#include "compiler/launch/Settings.h"

#include <algorithm>

namespace recipec::launch {
namespace {

/// EFA adapters, as AWS's device plugin calls them.
bool hasEfaAdapters(const Settings& settings) {
  return std::ranges::any_of(settings.resources, [](const auto& each) {
    return each.first == "vpc.amazonaws.com/efa";
  });
}

} // namespace

void doubtEnvironment(const recipe::Recipe& recipe, diag::Engine& engine) {
  const Settings settings = settingsOf(recipe);
  const auto& values =
      std::get<recipe::Record>(recipe.at("launch.env").data).fields;
  std::vector<environment::Variable> variables;
  for (size_t i = 0; i < settings.variables.size(); ++i) {
    const Variable& each = settings.variables[i];
    const SourceRange range = values[i].second.origin.range;
    environment::Variable variable{.name = each.name, .range = range};
    if (!each.secret)
      variable.value = each.text;
    variables.push_back(std::move(variable));
  }
  environment::lint(variables,
                    {.hasSeveralNodes = recipe.integer("cluster.nodes") > 1,
                     .hasEfa = hasEfaAdapters(settings),
                     .hasPython = false},
                    engine);
}

} // namespace recipec::launch
