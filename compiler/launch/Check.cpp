// See Check.h.

#include "compiler/launch/Check.h"

#include "compiler/launch/kubernetes/Check.h"
#include "runtime/launch/HostFile.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace recipec::launch {
namespace {

using diag::Kind;
using reciperun::launch::Host;

std::string counted(int64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string optionText(const Target& target) {
  return "`--target=" + std::string(target.name) + "`";
}

/// A server needs a target that keeps it up, and a training one that ends.
void checkTask(const Target& target, const Subject& subject,
               diag::Engine& engine) {
  if (subject.job.serves() == target.serves)
    return;
  auto builder = engine.report(
      Kind::InvalidValue, subject.recipe.at("task").origin.range,
      optionText(target) +
          (target.serves ? " starts servers" : " starts trainings") +
          ", and `task` is `\"" + subject.job.task + "\"`");
  if (target.serves)
    builder.help("`--set 'task=\"serve\"'` serves the trained model");
  else
    builder.help("`--target=deployment` starts servers");
}

/// Whether the host file has the nodes of the job. Reports the first reason why
/// not.
void checkHosts(const Subject& subject, const Place& place,
                diag::Engine& engine) {
  const Job& job = subject.job;
  const SourceRange range = subject.recipe.at("cluster.ranks").origin.range;
  const std::string wanted = "`" + job.name + "` has " +
                             counted(job.ranks, "rank") + " on " +
                             counted(job.nodes, "node");
  if (place.hostfile.empty()) {
    if (job.nodes > 1)
      engine
          .report(Kind::InvalidValue, range,
                  wanted + ", and no host file names these")
          .help("`--hostfile=HOSTS` names a file with a line `HOST slots=" +
                std::to_string(job.ranksPerNode) + "` for each node");
    return;
  }
  const auto read = reciperun::launch::hostsOf(place.hostfile);
  const std::vector<Host> hosts = read.value_or(std::vector<Host>());
  const std::string file = "`" + place.hostfile + "`";
  if (!read || hosts.empty()) {
    engine
        .report(Kind::FileNotReadable, {},
                read ? "the host file " + file + " names no host"
                     : "cannot read the host file " + file)
        .help("write a line `HOST slots=" + std::to_string(job.ranksPerNode) +
              "` for each node");
    return;
  }
  for (auto host = hosts.begin(); host != hosts.end(); ++host)
    for (auto other = host + 1; other != hosts.end(); ++other)
      if (host->name == other->name) {
        engine
            .report(Kind::InvalidData, {},
                    file + " names the host `" + host->name + "` twice")
            .help("write one line for it, with all its slots");
        return;
      }
  // A rank's number tells its node, so each node has its share of the ranks.
  const auto fits = [&](const Host& host) {
    return host.slots < 0 || host.slots >= job.ranksPerNode;
  };
  const int64_t fitting = std::ranges::count_if(hosts, fits);
  if (fitting >= job.nodes)
    return;
  engine
      .report(Kind::InvalidValue, range,
              wanted + ", " + std::to_string(job.ranksPerNode) +
                  " a node, and " + file + " has " + counted(fitting, "host") +
                  " with as many slots")
      .help("write `slots=" + std::to_string(job.ranksPerNode) +
            "` behind each of " + counted(job.nodes, "host") +
            ", or change `cluster.ranks`");
}

/// A container of Slurm mounts folders of the nodes.
void checkMounts(const Subject& subject, diag::Engine& engine) {
  if (subject.job.settings.image.empty())
    return;
  for (const Volume& each : subject.job.settings.volumes)
    if (each.host.empty())
      engine
          .report(Kind::InvalidValue,
                  subject.recipe.at("launch.volumes").origin.range,
                  "the volume `" + each.path + "` is the claim `" + each.claim +
                      "` of Kubernetes, and Slurm mounts folders of the nodes")
          .help("name the folder: `volume(\"" + each.path +
                "\", host = \"DIR\")`");
}

} // namespace

void check(const Target& target, const Subject& subject, const Place& place,
           diag::Engine& engine) {
  checkTask(target, subject, engine);
  if (target.system == System::shell)
    checkHosts(subject, place, engine);
  if (target.system == System::slurm)
    checkMounts(subject, engine);
  if (target.system == System::kubernetes)
    checkPods(target, subject, engine);
}

bool hasSecrets(const Subject& subject, diag::Engine& engine) {
  for (const Variable& each : subject.job.settings.variables) {
    if (!each.secret || std::getenv(each.name.c_str()))
      continue;
    engine
        .report(Kind::InvalidValue,
                subject.recipe.at("launch.env").origin.range,
                "`" + each.name +
                    "` is a secret, and the environment of this command has "
                    "no such variable")
        .help("export it first: `export " + each.name + "=...`");
    return false;
  }
  return true;
}

/// Restarts choose between layouts that differ in their nodes alone.
static void checkLayout(const Target& target, const Job& first,
                        const Subject& layout, diag::Engine& engine) {
  const Job& job = layout.job;
  const std::string one =
      "choose one count: `--set cluster.ranks=" + std::to_string(first.ranks) +
      "`";
  const SourceRange range = layout.recipe.at("cluster.ranks").origin.range;
  if (target.system == System::kubernetes)
    engine
        .report(Kind::InvalidValue, range,
                optionText(target) + " starts one number of pods, and `" +
                    first.run + "` has several `cluster.ranks`")
        .help(one + "; `--target=slurm` and `--target=mpirun` go on with fewer "
                    "nodes");
  else if (job.ranksPerNode != first.ranksPerNode)
    engine
        .report(Kind::InvalidValue, range,
                optionText(target) + " gives whole nodes, and " +
                    counted(job.ranks, "rank") + " are " +
                    std::to_string(job.ranksPerNode) + " a node where " +
                    std::to_string(first.ranks) + " are " +
                    std::to_string(first.ranksPerNode))
        .help(one + ", or list counts that fill nodes of " +
              std::to_string(first.ranksPerNode));
}

void checkShape(const Target& target, const Job& first, const Subject& point,
                diag::Engine& engine) {
  const Job& job = point.job;
  if (job.run == first.run)
    return checkLayout(target, first, point, engine);
  if (job.run != job.name) {
    if (job.ranks == first.ranks)
      engine
          .report(Kind::InvalidValue,
                  point.recipe.at("cluster.ranks").origin.range,
                  "one script starts one elastic run, and the sweep makes "
                  "several")
          .help("launch the points one by one: `recipec launch 'FILE:" +
                job.run + "'`");
    return;
  }
  if (target.system == System::kubernetes ||
      (job.ranks == first.ranks && job.nodes == first.nodes))
    return;
  engine
      .report(Kind::InvalidValue, point.recipe.at("cluster.ranks").origin.range,
              "one script runs all points of a sweep, and `" + job.name +
                  "` has " + counted(job.ranks, "rank") + " on " +
                  counted(job.nodes, "node") + " where `" + first.name +
                  "` has " + std::to_string(first.ranks) + " on " +
                  std::to_string(first.nodes))
      .help("launch the points one by one: `recipec launch 'FILE:" + job.name +
            "'`");
}

void doubt(const Target& target, const Subject& subject, diag::Engine& engine) {
  const Job& job = subject.job;
  if (target.system == System::kubernetes)
    doubtPaths(subject, engine);
  if (target.serves || job.settings.restarts == 0)
    return;
  const SourceRange range = subject.recipe.at("launch.restarts").origin.range;
  const std::string restarts =
      "`restarts` = " + std::to_string(job.settings.restarts);
  if (!job.savesCheckpoints)
    engine
        .report(Kind::UnlikelySetting, range,
                restarts + ", and a run that saves no checkpoints begins anew")
        .help("save some: `checkpoint { every = 30min }`");
  else if (subject.recipe.string("checkpoint.resume") != "auto")
    engine
        .report(Kind::UnlikelySetting, range,
                restarts + ", and with `checkpoint.resume` = \"" +
                    subject.recipe.string("checkpoint.resume") +
                    "\" each start loses the steps of the one before")
        .help("write `resume = \"auto\"`");
}

} // namespace recipec::launch
