// See Shell.h.

#include "compiler/launch/Shell.h"

namespace recipec::launch {
namespace {

constexpr size_t columns = 80;

} // namespace

std::string commandOf(const std::vector<std::string>& words,
                      std::string_view indent) {
  std::string text;
  size_t line = 0;
  for (const std::string& word : words) {
    const bool isFirst = text.empty();
    // Room for ` \` at the end of the line.
    if (!isFirst && line + 1 + word.size() + 2 > columns) {
      text += " \\\n" + std::string(indent);
      line = indent.size();
    } else if (!isFirst) {
      text += ' ';
      ++line;
    }
    text += word;
    line += word.size();
  }
  return text;
}

std::vector<Variable> environmentOf(const Job& job) {
  std::vector<Variable> variables = job.settings.variables;
  for (const Variable& each : variables)
    if (each.name == "OMP_NUM_THREADS")
      return variables;
  if (!job.hasGpus)
    variables.push_back(
        {.name = "OMP_NUM_THREADS", .text = std::to_string(job.settings.cpus)});
  return variables;
}

std::string preparationOf(const Job& job) {
  std::string text;
  for (const Variable& each : environmentOf(job)) {
    if (each.secret)
      text += ": \"${" + each.name +
              ":?is a secret of the recipe: export it before you submit}\"\n"
              "export " +
              each.name + "\n";
    else
      text += "export " + each.name + "=" + shellWord(each.text) + "\n";
  }
  for (const std::string& line : job.settings.setup)
    text += line + "\n";
  return text;
}

std::string_view rootPermission() {
  return R"sh(if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
)sh";
}

std::string_view waitFunction() {
  return R"(# Sets `code` to the exit code of the process $job. A trapped signal interrupts
# `wait`, so it is called until the process has ended.
await_job() {
  while kill -0 "$job" 2>/dev/null; do
    wait "$job" || true
  done
  code=0
  wait "$job" || code=$?
}
)";
}

} // namespace recipec::launch
