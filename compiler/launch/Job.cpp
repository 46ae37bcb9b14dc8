// See Job.h.

#include "compiler/launch/Job.h"

#include "compiler/launch/Labels.h"
#include "runtime/base/RemoteFiles.h"
#include "runtime/plan/Paths.h"

#include <algorithm>

namespace recipec::launch {
namespace {

constexpr int64_t mebibyte = int64_t(1) << 20;
/// The data and the tokenizer, which the run reads, and a margin for the parts
/// of a process that the plan does not count.
constexpr int64_t roomForData = 512 * mebibyte;
/// Host memory of a process with a CUDA context, NCCL's buffers and pinned
/// staging buffers of checkpoints.
constexpr int64_t hostOfGpuRank = 8192 * mebibyte;

/// Host memory of a node's ranks. All nodes ask for that of the largest stage.
int64_t hostBytesOf(const reciperun::plan::Plan& plan, int64_t ranksPerNode) {
  int64_t rank = 0;
  for (const auto& stage : plan.stages) {
    const auto& table = stage.memory;
    const int64_t onHost = table.host + table.offloaded;
    rank = std::max(rank, plan.device == "cuda" ? hostOfGpuRank + onHost
                                                : table.total);
  }
  return (rank + roomForData) * ranksPerNode;
}

std::string podFolderOf(const Settings& settings) {
  if (!settings.folder.empty())
    return settings.folder;
  return settings.volumes.empty() ? "/workspace" : settings.volumes[0].path;
}

} // namespace

std::string summaryOf(const Job& job) {
  const std::string ranks =
      std::to_string(job.ranks) + (job.ranks == 1 ? " rank" : " ranks");
  return job.task + " on " + ranks + ", " + std::to_string(job.ranksPerNode) +
         " a node";
}

bool areLayouts(const std::vector<Job>& jobs) {
  return jobs.size() > 1 && jobs.front().run == jobs.back().run;
}

Job jobOf(const recipe::Recipe& recipe, const reciperun::plan::Plan& plan) {
  Job job;
  job.settings = settingsOf(recipe);
  job.name = job.run = recipe.name;
  job.label =
      job.settings.name.empty() ? labelOf(recipe.name) : job.settings.name;
  job.task = recipe.string("task");
  job.ranks = recipe.integer("cluster.ranks");
  job.nodes = recipe.integer("cluster.nodes");
  job.ranksPerNode = job.ranks / job.nodes;
  job.hasGpus = plan.device == "cuda";
  job.hostBytes = job.settings.memory > 0 ? job.settings.memory
                                          : hostBytesOf(plan, job.ranksPerNode);
  job.savesCheckpoints = plan.checkpoint.saves();
  job.podFolder = podFolderOf(job.settings);
  job.metricsPort = job.serves() ? 0 : plan.train.metricsPort;
  job.maxBatch = recipe.integer("serve.max_batch");
  job.exports = !plan.exchange.hf.empty();
  reciperun::plan::eachPath(plan,
                            [&](const std::string& path, const char* setting) {
                              if (!reciperun::isAddress(path))
                                job.paths.emplace_back(setting, path);
                            });
  return job;
}

} // namespace recipec::launch
