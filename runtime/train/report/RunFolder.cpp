// See RunFolder.h.

#include "runtime/train/report/RunFolder.h"

#include "runtime/checkpoint/FolderKind.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"

#include <filesystem>
#include <utility>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* metricsName = "metrics.jsonl";

/// The error for a path that is no folder of a run.
Status noRun(const std::string& path) {
  const fs::path given = path;
  if (given.filename() == metricsName)
    return Status::error("`" + path +
                         "` is a file of a run: name its folder, `" +
                         (given.has_parent_path() ? given.parent_path().string()
                                                  : std::string(".")) +
                         "`");
  const checkpoint::Folder folder = checkpoint::lookAt(path);
  const bool isThere = folder.kind != checkpoint::FolderKind::missing;
  return Status::error(
      checkpoint::describe(path, folder) +
      (isThere ? std::string(", and has no `") + metricsName + "`" : "") +
      ": name the folder of a training, `train.dir` of its "
      "recipe");
}

/// Reads the plan of a run; without one the page lacks its description only.
void readPlanOf(const fs::path& folder, RunFolder& run) {
  Expected<plan::Plan> plan =
      plan::readPlan((folder / "plan.json").string(), {});
  if (!plan) {
    run.warnings.push_back(plan.message() +
                           "; the page says nothing of the recipe");
    return;
  }
  run.recipe = plan->name;
  run.task = plan->task;
  run.layout = plan::layoutText(plan->mesh);
  run.device = plan->device;
  run.ranks = plan->mesh.ranks;
}

} // namespace

Expected<RunFolder> readRunFolder(const std::string& path) {
  const fs::path folder = path;
  std::error_code code;
  if (!fs::exists(folder / metricsName, code))
    return noRun(path);
  RunFolder run;
  run.path = path;
  Expected<MetricsRows> read = readMetricsRows(folder / metricsName);
  RECIPERUN_TRY(read);
  if (!read->damaged.empty())
    run.warnings.push_back(
        damagedRowsText(folder / metricsName, read->damaged));
  if (read->rows.empty())
    return Status::error("`" + (folder / metricsName).string() +
                         "` has no step yet: wait for the first one");
  run.rows = std::move(read->rows);
  Expected<std::vector<RunEvent>> events =
      readRunEvents(folder / "events.jsonl");
  RECIPERUN_TRY(events);
  run.events = *std::move(events);
  readPlanOf(folder, run);
  return run;
}

} // namespace reciperun::train
