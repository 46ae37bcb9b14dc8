// Reads what a run has recorded in its folder.

#ifndef RECIPERUN_TRAIN_REPORT_RUNFOLDER_H
#define RECIPERUN_TRAIN_REPORT_RUNFOLDER_H

#include "runtime/base/Status.h"
#include "runtime/train/metrics/MetricsFile.h"
#include "runtime/train/metrics/RunEvents.h"

#include <string>
#include <vector>

namespace reciperun::train {

struct RunFolder {
  std::string path; // as the user wrote it
  // From plan.json; empty when it cannot be read.
  std::string recipe, task, layout, device;
  int ranks = 0;
  std::vector<MetricsRow> rows; // at least one
  std::vector<RunEvent> events; // none of runs before there was such a file
  std::vector<std::string> warnings; // of damaged or missing files
};

/// Fails when the folder is not that of a run, or has no metrics.
Expected<RunFolder> readRunFolder(const std::string& path);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_RUNFOLDER_H
