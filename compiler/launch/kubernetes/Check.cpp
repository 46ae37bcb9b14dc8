// See Check.h.

#include "compiler/launch/kubernetes/Check.h"

#include "compiler/launch/Labels.h"
#include "compiler/launch/kubernetes/Gzip.h"
#include "compiler/launch/kubernetes/Pod.h"
#include "runtime/base/RemoteFiles.h"
#include "runtime/plan/Paths.h"

#include <algorithm>

namespace recipec::launch {
namespace {

using diag::Kind;

constexpr const char* volumeExample =
    "`volumes = [volume(\"/data\", claim = \"NAME\")]` in `launch` mounts a "
    "claim, in which relative paths start then";

/// An absolute path in the pods.
std::string inPod(const Job& job, const std::string& path) {
  return reciperun::plan::resolvePath(job.podFolder, path);
}

bool isBelow(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? "/" : folder + "/");
}

bool isOnVolume(const Job& job, const std::string& path) {
  return std::ranges::any_of(job.settings.volumes, [&](const Volume& each) {
    return isBelow(inPod(job, path), each.path);
  });
}

/// Whether a run writes to the path of the setting, and keeps the result.
bool isResult(const Job& job, const std::string& setting) {
  return !job.serves() &&
         ((setting == "checkpoint.dir" && job.savesCheckpoints) ||
          (setting == "export.hf" && job.exports));
}

void checkImage(const Subject& subject, diag::Engine& engine) {
  if (!subject.job.settings.image.empty())
    return;
  engine
      .report(Kind::InvalidValue, subject.recipe.range,
              "pods run a container, and `launch.image` is not set")
      .help("name an image with `reciperun`, Open MPI and OpenSSH: `launch { "
            "image = \"REGISTRY/NAME:TAG\" }`");
}

void checkName(const Subject& subject, diag::Engine& engine) {
  const std::string& name = subject.job.settings.name;
  // The controllers add the part of a pod, such as `-worker-1023`.
  const size_t most = longestLabel - std::string("-launcher-0-0000").size();
  if (name.size() <= most)
    return;
  engine
      .report(Kind::InvalidValue, subject.recipe.at("launch.name").origin.range,
              "`name` has " + std::to_string(name.size()) +
                  " characters, and with what the cluster adds for each pod it "
                  "is a DNS label of at most " +
                  std::to_string(longestLabel))
      .help("shorten it to " + std::to_string(most));
}

void checkKeys(const Target& target, const Subject& subject,
               diag::Engine& engine) {
  const Job& job = subject.job;
  if (!target.needsKeys || job.nodes == 1 || !job.settings.sshSecret.empty())
    return;
  engine
      .report(Kind::InvalidValue,
              subject.recipe.at("cluster.ranks").origin.range,
              "`mpirun` reaches the " + std::to_string(job.nodes) +
                  " pods of the job by ssh, and `launch.ssh_secret` names no "
                  "keys")
      .help("`ssh-keygen -t ed25519 -N '' -f key` and `kubectl create secret "
            "generic NAME --from-file=ssh-privatekey=key "
            "--from-file=ssh-publickey=key.pub` make them")
      .help("`--target=mpijob` makes its own");
}

/// A Deployment's pods are copies of a server, which do not know each other.
void checkServer(const Subject& subject, diag::Engine& engine) {
  const Job& job = subject.job;
  if (!job.serves())
    return;
  if (job.nodes > 1)
    engine
        .report(Kind::InvalidValue,
                subject.recipe.at("cluster.ranks").origin.range,
                "a server of a Deployment is one pod on one node, and the "
                "model is on " +
                    std::to_string(job.nodes) + " nodes")
        .help("take at most " + std::to_string(job.ranksPerNode) +
              " ranks: `cluster.ranks`");
  if (job.model.empty())
    engine
        .report(Kind::InvalidValue, subject.recipe.at("task").origin.range,
                "`task` is `\"" + job.task +
                    "\"`, and the recipe names no model")
        .help("name the folder of its weights: `--set 'weights=\"DIR\"'`");
}

void checkResults(const Subject& subject, diag::Engine& engine) {
  const Job& job = subject.job;
  for (const auto& [setting, path] : job.paths)
    if (isResult(job, setting) && !isOnVolume(job, path)) {
      engine
          .report(Kind::InvalidValue, subject.recipe.at(setting).origin.range,
                  "`" + setting + "` is `" + inPod(job, path) +
                      "` in the pods, which is on no volume, and is lost when "
                      "they end")
          .help(volumeExample);
      return;
    }
}

void checkPlanSize(const Subject& subject, diag::Engine& engine) {
  const size_t size = gzipped(subject.job.planText).size();
  if (size <= mostPlanBytes)
    return;
  engine
      .report(Kind::TooLarge, subject.recipe.range,
              "the compressed plan has " + std::to_string(size) +
                  " bytes, and a ConfigMap has room for " +
                  std::to_string(mostPlanBytes))
      .help("fewer pipeline stages or equal layers make a smaller plan; "
            "`--target=slurm` has no such limit");
}

} // namespace

void checkPods(const Target& target, const Subject& subject,
               diag::Engine& engine) {
  checkImage(subject, engine);
  checkName(subject, engine);
  if (target.serves)
    checkServer(subject, engine);
  checkKeys(target, subject, engine);
  checkResults(subject, engine);
  checkPlanSize(subject, engine);
}

void doubtPaths(const Subject& subject, diag::Engine& engine) {
  const Job& job = subject.job;
  const auto doubtPath = [&](const std::string& setting,
                             const std::string& path) {
    engine
        .report(Kind::UnlikelySetting, subject.recipe.at(setting).origin.range,
                "`" + setting + "` is `" + inPod(job, path) +
                    "` in the pods, which is on no volume: the image has to "
                    "have it")
        .help(volumeExample);
  };
  constexpr std::string_view inputs[] = {"data.train", "data.valid",
                                         "tokenizer", "weights"};
  for (const auto& [setting, path] : job.paths)
    if (std::ranges::find(inputs, setting) != std::end(inputs) &&
        !isOnVolume(job, path)) {
      doubtPath(setting, path);
      return;
    }
  if (job.serves() && !job.model.empty() && !reciperun::isAddress(job.model) &&
      !isOnVolume(job, job.model))
    doubtPath(subject.recipe.at("export.hf").isNone() ? "weights" : "export.hf",
              job.model);
}

} // namespace recipec::launch
