// The environment of pods, by the lint of compiler/environment; see Findings.h.

#include "compiler/import/manifest/Findings.h"

#include "compiler/environment/Lint.h"
#include "compiler/import/manifest/Commands.h"

#include <algorithm>

namespace recipec::importer::manifest {
namespace {

using environment::Variable;

void addVariables(const Node& list, std::vector<Variable>& variables) {
  for (const Node& each : list.elements()) {
    Variable variable{.name = each["name"].text(), .range = {}};
    variable.range = each["name"].range();
    if (!each["valueFrom"]) {
      variable.value = each["value"].text();
      variable.valueRange = each["value"].valueRange();
    }
    variables.push_back(std::move(variable));
  }
}

/// Variables that commands set for the ranks.
void addAssignments(const std::vector<Command>& commands,
                    std::vector<Variable>& variables) {
  for (const auto& [name, word] : assignmentsOf(commands))
    variables.push_back(
        {.name = name, .value = word.text, .range = word.range});
}

/// Whether two lists have the same text, as those of masters and workers often
/// have: one report is enough.
std::string keyOf(const std::vector<Variable>& variables) {
  std::string key;
  for (const Variable& each : variables)
    key += each.name + "=" + each.value.value_or("") + "\n";
  return key;
}

} // namespace

void checkEnvironment(const Manifest& manifest, diag::Engine& engine) {
  std::vector<std::pair<const Object*, std::string>> checked;
  for (const Pod& pod : manifest.pods) {
    int64_t pods = 0;
    for (const Pod& each : manifest.pods)
      pods += each.owner == pod.owner ? each.count : 0;
    const bool isServer = pod.owner->kind == "Deployment";
    for (const Node& container : pod.containers()) {
      std::vector<Variable> variables;
      addVariables(container["env"], variables);
      addAssignments(commandsOf(pod, container, manifest), variables);
      const auto key = std::pair(pod.owner, keyOf(variables));
      if (std::ranges::find(checked, key) != checked.end())
        continue;
      checked.push_back(key);
      environment::lint(variables,
                        {.hasSeveralNodes = pods > 1 && !isServer,
                         .hasEfa = pod.asksFor("vpc.amazonaws.com/efa")},
                        engine);
    }
  }
  for (const Object& object : manifest.objects) {
    if (!object.is("TrainJob"))
      continue;
    const Node trainer = object.spec()["trainer"];
    std::vector<Variable> variables;
    addVariables(trainer["env"], variables);
    environment::lint(
        variables,
        {.hasSeveralNodes = trainer["numNodes"].count().value_or(1) > 1},
        engine);
  }
}

} // namespace recipec::importer::manifest
