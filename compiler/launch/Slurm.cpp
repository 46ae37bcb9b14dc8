// Writes an sbatch script:
//
// 1. The options of sbatch: nodes, tasks and memory from the plan, and the
//    settings.
// 2. The environment of the ranks, and `launch.setup`.
//    An elastic run takes the first layout that Slurm gave nodes for.
// 3. The ranks, started by srun (or mpirun) in the background, so that the
//    script can pass on the signals of Slurm.
// 4. A job that failed, or that a signal has stopped, is requeued. It resumes
//    from its last checkpoint.

#include "compiler/launch/Slurm.h"

#include "compiler/launch/Labels.h"
#include "compiler/launch/Mpirun.h"
#include "compiler/launch/Shell.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

namespace recipec::launch {
namespace {

namespace fs = std::filesystem;

/// Days-hours:minutes:seconds.
std::string timeText(int64_t seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%lld-%02lld:%02lld:%02lld",
                static_cast<long long>(seconds / 86400),
                static_cast<long long>(seconds / 3600 % 24),
                static_cast<long long>(seconds / 60 % 60),
                static_cast<long long>(seconds % 60));
  return text;
}

/// In MiB, rounded up.
std::string memoryText(int64_t bytes) {
  const int64_t mebibyte = int64_t(1) << 20;
  return std::to_string((bytes + mebibyte - 1) / mebibyte) + "M";
}

class Writer {
public:
  Writer(const std::vector<Job>& jobs, const std::string& folder)
      : jobs(jobs), job(jobs.front()), settings(job.settings), folder(folder) {}

  std::string script() {
    head();
    options();
    text += "\nset -euo pipefail\n";
    plans();
    if (settings.usesMpirun)
      text += rootPermission();
    text += preparationOf(job);
    if (settings.image.empty())
      programCheck();
    ranks();
    end();
    return text;
  }

private:
  bool isElastic() const { return areLayouts(jobs); }
  bool isArray() const { return jobs.size() > 1 && !isElastic(); }

  void head() {
    text = "#!/bin/bash\n# ";
    text += isArray()
                ? "The " + std::to_string(jobs.size()) + " points of a sweep"
                : "`" + job.run + "`";
    text += ": " + summaryOf(job);
    for (size_t i = 1; isElastic() && i < jobs.size(); ++i)
      text += ", or on " + std::to_string(jobs[i].ranks);
    text += ".\n";
    text += "# Written by `recipec launch --target=slurm`; submit it with "
            "sbatch.\n";
  }

  void option(const std::string& name, const std::string& value) {
    text += "#SBATCH --" + name + (value.empty() ? "" : "=" + value) + "\n";
  }

  void optionIfSet(const std::string& name, const std::string& value) {
    if (!value.empty())
      option(name, value);
  }

  void options() {
    option("job-name", isArray()     ? labelOf(job.family)
                       : isElastic() ? labelOf(job.run)
                                     : job.label);
    // A requeued job continues its log.
    option("output", folder + (isArray() ? "/%x-%A_%a.log" : "/%x-%j.log"));
    option("open-mode", "append");
    if (isArray())
      option("array", "0-" + std::to_string(jobs.size() - 1) +
                          (settings.concurrent > 0
                               ? "%" + std::to_string(settings.concurrent)
                               : ""));
    option("nodes",
           (isElastic() ? std::to_string(jobs.back().nodes) + "-" : "") +
               std::to_string(job.nodes));
    option("ntasks-per-node", std::to_string(job.ranksPerNode));
    option("cpus-per-task", std::to_string(settings.cpus));
    if (job.hasGpus)
      option("gpus-per-node", std::to_string(job.ranksPerNode));
    option("mem", memoryText(mostHostBytes()));
    if (settings.seconds > 0)
      option("time", timeText(settings.seconds));
    optionIfSet("partition", settings.queue);
    optionIfSet("account", settings.account);
    optionIfSet("qos", settings.priority);
    if (settings.exclusive)
      option("exclusive", "");
    option(settings.restarts > 0 ? "requeue" : "no-requeue", "");
    option("signal", "B:USR1@" + std::to_string(settings.grace));
    for (const std::string& each : settings.options)
      text += "#SBATCH " + each + "\n";
  }

  int64_t mostHostBytes() const {
    return std::ranges::max_element(jobs, {}, &Job::hostBytes)->hostBytes;
  }

  void layouts() {
    text += "# Slurm gives as many nodes as are free, within the limits.\n";
    for (const Job& each : jobs) {
      const bool isLast = &each == &jobs.back();
      const std::string nodes = std::to_string(each.nodes);
      text += isLast ? "else\n"
                     : (&each == &job ? "if" : "elif") +
                           std::string(" [ \"$SLURM_JOB_NUM_NODES\" -ge ") +
                           nodes + " ]; then\n";
      text += "  nodes=" + nodes + " ranks=" + std::to_string(each.ranks) +
              "\n  plan=" + shellWord(each.planFile) + "\n";
    }
    text += "fi\n";
  }

  void plans() {
    if (isElastic())
      return layouts();
    if (!isArray()) {
      text += "plan=" + shellWord(job.planFile) + "\n";
      return;
    }
    text += "plans=(\n";
    for (const Job& each : jobs)
      text += "  " + shellWord(each.planFile) + "\n";
    text += ")\nplan=${plans[SLURM_ARRAY_TASK_ID]}\n";
  }

  void programCheck() {
    text += "command -v " + shellWord(settings.program) +
            " >/dev/null || { echo 'error: no program `" + settings.program +
            "` on this node; set `launch.program`' >&2; exit 127; }\n";
  }

  /// The folders that the ranks read and write, at the same paths inside, and
  /// the volumes.
  std::string mounts() const {
    std::string list;
    const auto add = [&](const std::string& mount) {
      list += (list.empty() ? "" : ",") + mount;
    };
    std::set<std::string> folders = {job.folder, folder};
    for (const std::string& each : folders)
      add(each + ":" + each);
    for (const Volume& each : settings.volumes)
      add(each.host + ":" + each.path + (each.readOnly ? ":ro" : ""));
    return list;
  }

  std::vector<std::string> containerWords() const {
    if (settings.image.empty())
      return {};
    return {"--container-image=" + shellWord(settings.image),
            "--container-mounts=" + shellWord(mounts()),
            "--no-container-mount-home"};
  }

  std::string binding() const {
    if (settings.bind == "core")
      return "cores";
    if (settings.bind == "numa")
      return "ldoms";
    return settings.bind == "socket" ? "sockets" : "none";
  }

  std::vector<std::string> starter() const {
    if (settings.usesMpirun)
      return mpirunWords(job, isElastic() ? "\"$ranks\"" : "");
    std::vector<std::string> words = {"srun",
                                      "--mpi=pmix",
                                      "--cpus-per-task=" +
                                          std::to_string(settings.cpus),
                                      "--distribution=block:block",
                                      "--cpu-bind=" + binding(),
                                      "--kill-on-bad-exit=1"};
    if (isElastic())
      words.insert(words.end(), {"--nodes=\"$nodes\"", "--ntasks=\"$ranks\""});
    for (std::string& each : containerWords())
      words.push_back(std::move(each));
    return words;
  }

  void ranks() {
    text += R"(
# Slurm sends SIGUSR1 before the time limit, and SIGTERM where it takes the nodes
# away. The ranks save a checkpoint and end.
trap 'kill -USR1 "$job" 2>/dev/null || true' USR1 TERM
)" + std::string(waitFunction());
    std::vector<std::string> words = starter();
    if (!settings.usesMpirun) {
      text += "started=" + shellWord(folder) + "/.started-$SLURM_JOB_ID\n";
      words.insert(words.end(),
                   {"sh", "-c", R"(': > "$0" && exec "$@"')", "\"$started\""});
    }
    words.push_back(shellWord(settings.program) +
                    " train \"$plan\" --progress=lines &");
    text += commandOf(words) + "\njob=$!\nawait_job\n";
    if (!settings.usesMpirun)
      text +=
          R"(# srun of Slurm 22.05 returns 0 where the nodes refuse to start its tasks.
if [ "$code" -eq 0 ] && [ ! -e "$started" ]; then
  echo "error: srun has started no rank" >&2
  code=1
fi
rm -f "$started"
)";
  }

  void end() {
    if (settings.restarts == 0) {
      text += "exit \"$code\"\n";
      return;
    }
    const std::string most = std::to_string(settings.restarts);
    text += "\nrestarts=${SLURM_RESTART_COUNT:-0}\n"
            "if [ \"$code\" -ne 0 ] && [ \"$restarts\" -lt " +
            most +
            " ]; then\n"
            "  echo \"note: the run ended with code $code; it is requeued, "
            "restart $((restarts + 1)) of " +
            most +
            "\"\n"
            "  scontrol requeue \"$SLURM_JOB_ID\" || true\n"
            "fi\n"
            "exit \"$code\"\n";
  }

  const std::vector<Job>& jobs;
  const Job& job; // the first; an array has the same options for all
  const Settings& settings;
  const std::string& folder;
  std::string text;
};

} // namespace

std::string slurmScript(const std::vector<Job>& jobs,
                        const std::string& folder) {
  return Writer(jobs, folder).script();
}

} // namespace recipec::launch
