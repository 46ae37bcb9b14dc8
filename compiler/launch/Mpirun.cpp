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

/// Options of mpirun: the mapping, and the environment of other nodes.
std::vector<std::string> mappingWords(const Job& job) {
  std::vector<std::string> words = {"--map-by " + mappingOf(job),
                                    "--bind-to " + job.settings.bind};
  for (const Variable& each : environmentOf(job))
    words.push_back("-x " + each.name);
  return words;
}

std::string headOf(const std::vector<Job>& jobs) {
  std::string text = "#!/bin/bash\n";
  for (const Job& job : jobs)
    text += "# `" + job.name + "`: " + summaryOf(job) + ".\n";
  return text + "# Written by `recipec launch --target=mpirun`; run it on the "
                "first node.\n";
}

/// Runs one plan, or the plans of one run. reciperun starts mpirun, and again
/// after a failure, with the first plan that the hosts have slots for.
std::string runFunction(const Job& job, const std::string& hostfile) {
  std::vector<std::string> words = {
      shellWord(job.settings.program), "train", "\"$@\"", "--progress=lines",
      "--restarts=" + std::to_string(job.settings.restarts)};
  if (!hostfile.empty())
    words.push_back("--hostfile=" + shellWord(hostfile));
  words.emplace_back("--");
  for (std::string& each : mappingWords(job))
    words.push_back(std::move(each));
  words.emplace_back("&");
  return R"(# Runs one of the plans "$@".
run_plan() {
  )" + commandOf(words, "    ") +
         R"(
  job=$!
  await_job
  return "$code"
}
)";
}

} // namespace

std::vector<std::string> mpirunWords(const Job& job, const std::string& ranks) {
  std::vector<std::string> words = {
      "mpirun", "-np", ranks.empty() ? std::to_string(job.ranks) : ranks};
  for (std::string& each : mappingWords(job))
    words.push_back(std::move(each));
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
  text += preparationOf(first) + R"(
# reciperun passes a signal to the ranks, which save a checkpoint and end.
trap 'kill -USR1 "$job" 2>/dev/null || true' TERM INT USR1
)" + std::string(waitFunction()) +
          runFunction(first, hostfile) + "\n";
  const bool isOneRun = areLayouts(jobs);
  for (const Job& job : jobs)
    text +=
        (isOneRun && &job != &first ? " \\\n  " : "run_plan ") +
        std::string("\"$here\"/") +
        shellWord(fs::path(job.planFile).lexically_relative(folder).string()) +
        (isOneRun && &job != &jobs.back() ? "" : "\n");
  return text;
}

} // namespace recipec::launch
