// An HTML page about runs: `reciperun report`.

#ifndef RECIPERUN_TRAIN_REPORT_RUNPAGE_H
#define RECIPERUN_TRAIN_REPORT_RUNPAGE_H

#include "runtime/train/report/RunFolder.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// A single page without external files or scripts: a table of figures with a
/// column for each run, curves over steps with a line for each run, and for
/// each run its slowest steps, its events and values in a table.
std::string runPage(const std::vector<RunFolder>& runs);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_RUNPAGE_H
