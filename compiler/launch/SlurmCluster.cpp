// See SlurmCluster.h. Partitions are from sinfo, accounts from sacctmgr, which
// answers only where the cluster has a database of accounts. sbatch --test-only
// knows the rest.

#include "compiler/launch/SlurmCluster.h"

#include "compiler/launch/Process.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <pwd.h>
#include <unistd.h>

namespace recipec::launch {
namespace {

using diag::Kind;

struct Partition {
  int64_t nodes = 0;
  bool isDefault = false;
};
/// By name, without the `*` of the default one.
using Partitions = std::map<std::string, Partition>;

/// Reads the lines `NAME NODES` of sinfo: one for each kind of nodes.
Partitions partitionsOf(const std::string& text) {
  Partitions partitions;
  for (const std::string& line : linesOf(text)) {
    const size_t blank = line.find(' ');
    if (blank == line.npos)
      continue;
    std::string name = line.substr(0, blank);
    const bool isDefault = name.ends_with('*');
    if (isDefault)
      name.pop_back();
    Partition& partition = partitions[name];
    partition.nodes += std::atoll(line.c_str() + blank);
    partition.isDefault |= isDefault;
  }
  return partitions;
}

std::vector<std::string> namesOf(const Partitions& partitions) {
  std::vector<std::string> names;
  for (const auto& [name, partition] : partitions)
    names.push_back(name);
  return names;
}

/// The partition that the job goes to; empty if it is not known.
std::string chosenPartition(const Partitions& partitions, const Job& job) {
  if (!job.settings.queue.empty())
    return job.settings.queue;
  for (const auto& [name, partition] : partitions)
    if (partition.isDefault)
      return name;
  return {};
}

bool checkPartition(const Subject& subject, const Partitions& partitions,
                    diag::Engine& engine) {
  const std::string name = chosenPartition(partitions, subject.job);
  const auto found = partitions.find(name);
  if (found == partitions.end() && !subject.job.settings.queue.empty()) {
    const SourceRange range = subject.recipe.at("launch.queue").origin.range;
    engine
        .report(Kind::InvalidValue, range,
                "`queue` = \"" + name + "\" is no partition of this cluster")
        .suggestOrList(range, name, namesOf(partitions), "its partitions are ",
                       "\"");
    return false;
  }
  const int64_t nodes = subject.job.nodes;
  if (found == partitions.end() || found->second.nodes >= nodes)
    return true;
  engine
      .report(Kind::InvalidValue,
              subject.recipe.at("cluster.ranks").origin.range,
              "the job needs " + std::to_string(nodes) +
                  " nodes, and the partition `" + name + "` has " +
                  std::to_string(found->second.nodes))
      .help("take fewer ranks, or another partition: `launch.queue`");
  return false;
}

std::string userName() {
  const passwd* entry = getpwuid(geteuid());
  return entry ? entry->pw_name : "";
}

bool checkAccount(const Subject& subject, diag::Engine& engine) {
  const std::string& account = subject.job.settings.account;
  if (account.empty())
    return true;
  const auto answer =
      ask({"sacctmgr", "--noheader", "--parsable2", "show", "associations",
           "user=" + userName(), "format=account"});
  if (!answer || !answer->isOk())
    return true;
  std::vector<std::string> accounts = linesOf(answer->out);
  std::ranges::sort(accounts);
  accounts.erase(std::unique(accounts.begin(), accounts.end()), accounts.end());
  if (accounts.empty() || std::ranges::binary_search(accounts, account))
    return true;
  const SourceRange range = subject.recipe.at("launch.account").origin.range;
  engine
      .report(Kind::InvalidValue, range,
              "`account` = \"" + account +
                  "\" is none of yours on this cluster")
      .suggestOrList(range, account, accounts, "yours are ", "\"");
  return false;
}

/// What sbatch says, in one line.
std::string reasonOf(const Answer& answer) {
  std::string reason;
  for (std::string line : linesOf(answer.err)) {
    for (const std::string prefix :
         {"sbatch: error: ", "allocation failure: ", "sbatch: "})
      if (line.starts_with(prefix))
        line.erase(0, prefix.size());
    reason += (reason.empty() ? "" : "; ") + line;
  }
  return reason.empty() ? "exit code " + std::to_string(answer.code) : reason;
}

void reportNoSlurm(const std::string& script, diag::Engine& engine) {
  engine
      .report(Kind::FileNotReadable, {},
              "this machine has no program `sbatch`, so it is no node of a "
              "Slurm cluster")
      .help("submit on a login node of the cluster: `sbatch " + script + "`");
}

} // namespace

bool askSlurm(const Subject& subject, const std::string& script,
              diag::Engine& engine) {
  const auto listed = ask({"sinfo", "--noheader", "--format=%P %D"});
  if (listed && listed->isOk() &&
      !checkPartition(subject, partitionsOf(listed->out), engine))
    return false;
  if (!checkAccount(subject, engine))
    return false;
  const auto tested = ask({"sbatch", "--test-only", script});
  if (!tested) {
    reportNoSlurm(script, engine);
    return false;
  }
  if (tested->isOk())
    return true;
  engine
      .report(Kind::InvalidValue, subject.recipe.range,
              "the cluster refuses the job: " + reasonOf(*tested))
      .help("`sbatch --test-only " + script +
            "` tests it again; its options follow from `launch` and `cluster`");
  return false;
}

std::optional<std::string> submitToSlurm(const Subject& subject,
                                         const std::string& script,
                                         diag::Engine& engine) {
  const auto answer = ask({"sbatch", "--parsable", script});
  if (!answer) {
    reportNoSlurm(script, engine);
    return std::nullopt;
  }
  if (!answer->isOk()) {
    engine.report(Kind::InvalidValue, subject.recipe.range,
                  "the cluster refuses the job: " + reasonOf(*answer));
    return std::nullopt;
  }
  // `ID`, or `ID;CLUSTER`
  const std::string id =
      answer->out.substr(0, answer->out.find_first_of(";\n"));
  return id;
}

} // namespace recipec::launch
