// See Mpirun.h.

#include "compiler/launch/Mpirun.h"

#include "compiler/launch/Shell.h"

#include <filesystem>

namespace recipec::launch {
namespace {

namespace fs = std::filesystem;

/// `ppr:8:node`: ranks fill one node after another, as the plan's layout
/// expects. `PE` gives each rank its cores.
std::string mappingOf(const Job& job) {
  std::string mapping = "ppr:" + std::to_string(job.ranksPerNode) + ":node";
  if (job.settings.bind == "core")
    return mapping + ":PE=" + std::to_string(job.settings.cpus);
  // One node has all ranks, however few slots mpirun counts there.
  return job.nodes == 1 ? mapping + ":OVERSUBSCRIBE" : mapping;
}

std::string headOf(const std::vector<Job>& jobs) {
  std::string text = "#!/bin/bash\n";
  for (const Job& job : jobs)
    text += "# `" + job.name + "`: " + summaryOf(job) + ".\n";
  return text + "# Written by `recipec launch --target=mpirun`; run it on the "
                "first node.\n";
}

/// Runs one plan, and again after a failure.
std::string runFunction(const Job& job, const std::string& hostfile) {
  std::vector<std::string> words = mpirunWords(job);
  if (!hostfile.empty())
    words.insert(words.begin() + 3, "--hostfile " + shellWord(hostfile));
  words.push_back(shellWord(job.settings.program) +
                  " train \"$1\" --progress=lines &");
  const std::string starts = std::to_string(job.settings.restarts + 1);
  return R"(# Runs the plan $1. A run that fails is started again and resumes from its last
# checkpoint; one that a signal has stopped is not.
run_plan() {
  local start
  for ((start = 1; start <= )" +
         starts + R"(; ++start)); do
    )" + commandOf(words, "      ") +
         R"(
    job=$!
    await_job
    [ "$code" -eq 0 ] && return 0
    [ "$is_stopped" -eq 1 ] && return "$code"
    echo "note: start $start of at most )" +
         starts + R"( ended with code $code" >&2
  done
  return "$code"
}
)";
}

} // namespace

std::vector<std::string> mpirunWords(const Job& job) {
  std::vector<std::string> words = {
      "mpirun",       "-np",       std::to_string(job.ranks), "--map-by",
      mappingOf(job), "--bind-to", job.settings.bind};
  for (const Variable& each : environmentOf(job))
    words.push_back("-x " + each.name);
  return words;
}

std::string mpirunScript(const std::vector<Job>& jobs,
                         const std::string& hostfile,
                         const std::string& folder) {
  const Job& first = jobs.front();
  std::string text = headOf(jobs) + R"sh(set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
)sh";
  text += "command -v " + shellWord(first.settings.program) +
          " >/dev/null || { echo 'error: no program `" +
          first.settings.program +
          "` on this node; set `launch.program`' >&2; exit 127; }\n";
  text += std::string(rootPermission()) + preparationOf(first) + R"(
# mpirun passes SIGUSR1 to the ranks, which save a checkpoint and end.
is_stopped=0
trap 'is_stopped=1; kill -USR1 "$job" 2>/dev/null || true' TERM INT USR1
)" + std::string(waitFunction()) +
          runFunction(first, hostfile) + "\n";
  for (const Job& job : jobs)
    text +=
        "run_plan \"$here\"/" +
        shellWord(fs::path(job.planFile).lexically_relative(folder).string()) +
        "\n";
  return text;
}

} // namespace recipec::launch
