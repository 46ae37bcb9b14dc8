// See Restarting.h.

#include "runtime/train/Restarting.h"

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/comm/Watch.h"
#include "runtime/launch/HostAnswers.h"
#include "runtime/launch/HostFile.h"
#include "runtime/launch/Mpirun.h"
#include "runtime/launch/Restarts.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <unistd.h>
#include <utility>

namespace reciperun::train {
namespace {

int refuseToRestart(const std::string& message, const std::string& help = "") {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  if (!help.empty())
    std::fprintf(stderr, "help: %s\n", help.c_str());
  return 1;
}

/// The command line of this process with one of the plans.
std::vector<std::string> ownCommandFor(const Layout& chosen,
                                       const std::vector<Layout>& layouts) {
  std::vector<std::string> own =
      launch::ownCommand({"--restarts", "--hostfile"});
  for (const Layout& each : layouts) {
    const auto found = std::find(own.begin(), own.end(), each.path);
    if (&each != &chosen && found != own.end())
      own.erase(found);
  }
  return own;
}

std::vector<std::string> commandOfRanks(const Layout& chosen,
                                        const std::vector<Layout>& layouts,
                                        const Restarting& restarting,
                                        const std::string& hostfile) {
  std::vector<std::string> own = ownCommandFor(chosen, layouts);
  // The ranks write to a pipe, so only this process knows whether a person is
  // watching.
  if (restarting.style == Style::automatic && isatty(STDOUT_FILENO))
    own.emplace_back("--progress=bar");
  const int ranks = chosen.plan.mesh.ranks;
  if (ranks == 1 && hostfile.empty() && restarting.passedOn.empty())
    return own;
  std::vector<std::string> command = launch::mpirun(
      ranks, {.hostfile = hostfile, .others = restarting.passedOn});
  command.insert(command.end(), own.begin(), own.end());
  return command;
}

/// The newest checkpoint of the run; nullopt if there is none, and if the
/// folder cannot be read, which the run itself reports.
std::optional<int64_t> newestCheckpoint(const plan::Plan& plan) {
  checkpoint::CheckpointFolder folder(plan.checkpoint.directory);
  if (!folder.open().isOk())
    return std::nullopt;
  return folder.newest();
}

void warn(const std::string& text) {
  std::fprintf(stderr, "warning: %s\n", text.c_str());
}

/// The host file of a restart, without the hosts that do not answer.
class StartHosts {
public:
  explicit StartHosts(const Restarting& restarting) : restarting(restarting) {}
  StartHosts(const StartHosts&) = delete;
  StartHosts& operator=(const StartHosts&) = delete;
  ~StartHosts() {
    if (!ours.empty())
      std::remove(ours.c_str());
  }

  /// Asks the hosts, and names those that do not answer.
  void ask() {
    silent.clear();
    const auto hosts = launch::hostsOf(restarting.hostfile);
    if (!hosts)
      return;
    std::vector<std::string> names = launch::namesOf(*hosts);
    std::erase_if(names, launch::isThisHost);
    if (names.empty())
      return;
    const auto agent = launch::launchAgent(restarting.passedOn);
    if (!agent)
      return warn(
          "the launch agent of mpirun, `plm_rsh_agent` or `ssh`, is not "
          "in PATH, and the hosts are not asked whether they answer");
    silent = launch::silentHosts(names, *agent, answerLimit);
    if (silent.empty())
      return;
    warn(silenceText(silent) + " within " +
         std::to_string(answerLimit.count()) + " s; the run goes on without");
    write(launch::hostsWithout(*hosts, silent));
  }

  /// The file for mpirun.
  const std::string& file() const {
    return silent.empty() ? restarting.hostfile : ours;
  }

  std::vector<std::string> silent;

private:
  void write(const std::vector<launch::Host>& hosts) {
    std::error_code noFolder; // an unusable TMPDIR
    const auto folder = std::filesystem::temp_directory_path(noFolder);
    ours = (noFolder ? "/tmp" : folder.string()) + "/reciperun-hosts-" +
           std::to_string(getpid());
    const int error = launch::writeHosts(ours, hosts);
    if (error == 0)
      return;
    warn("cannot write `" + ours + "`: " + std::strerror(error) +
         "; the run takes all hosts");
    silent.clear();
  }

  static constexpr std::chrono::seconds answerLimit{10};
  const Restarting& restarting;
  std::string ours; // empty: not written
};

} // namespace

int trainAgain(std::vector<Layout> layouts, const Restarting& restarting) {
  if (const Status ordered = orderLayouts(layouts); !ordered.isOk())
    return refuseToRestart(ordered.message());
  Expected<const Layout*> chosen = widestLayout(layouts, restarting.hostfile);
  if (!chosen)
    return refuseToRestart(chosen.message());
  const Layout* present = *chosen;
  const plan::Plan& plan = present->plan;
  if (comm::MpiSession::isOneOfSeveral())
    return refuseToRestart(
        "`--restarts` starts the ranks itself, and this is a rank of `mpirun`",
        "run `reciperun train PLAN --restarts " +
            std::to_string(restarting.most) +
            "` without `mpirun`; its options follow `--`");
  if (restarting.most > 0 && plan.checkpoint.resume != "auto")
    return refuseToRestart(
        "`--restarts` resumes the run, and its plan has `checkpoint.resume = "
        "\"" +
            plan.checkpoint.resume + "\"`",
        "compile it with `--set 'checkpoint.resume=\"auto\"'`, or leave "
        "`--restarts` out");
  std::optional<int64_t> saved = newestCheckpoint(plan);
  const auto judge = [&](const launch::LaunchResult& result) {
    const auto before = std::exchange(saved, newestCheckpoint(plan));
    if (saved != before)
      return launch::Worth::afterProgress;
    const bool isLost =
        result.exitCode > 128 || result.exitCode == comm::exitUnresponsive;
    return isLost ? launch::Worth::again : launch::Worth::none;
  };
  StartHosts hosts(restarting);
  const auto next = [&]() -> std::vector<std::string> {
    hosts.ask();
    const auto widest =
        widestLayout(layouts, restarting.hostfile, hosts.silent);
    if (!widest) {
      warn(widest.message());
      return {};
    }
    if (*widest != std::exchange(present, *widest))
      warn("the run goes on with " + std::to_string(present->plan.mesh.ranks) +
           " ranks, by `" + present->path + "`");
    return commandOfRanks(*present, layouts, restarting, hosts.file());
  };
  const launch::LaunchResult result = launch::runWithRestarts(
      commandOfRanks(*present, layouts, restarting, restarting.hostfile),
      {.most = restarting.most,
       .judge = judge,
       .next = next,
       .warn = warn,
       .job = "the run"},
      std::cerr);
  if (result.error != 0)
    return refuseToRestart(std::string("cannot start `mpirun`: ") +
                               std::strerror(result.error),
                           "install Open MPI (`openmpi-bin`)");
  return result.exitCode;
}

} // namespace reciperun::train
