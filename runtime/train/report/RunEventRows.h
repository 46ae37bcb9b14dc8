// The events of a run as rows of a table.

#ifndef RECIPERUN_TRAIN_REPORT_RUNEVENTROWS_H
#define RECIPERUN_TRAIN_REPORT_RUNEVENTROWS_H

#include "runtime/train/report/RunFolder.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::train {

struct EventRow {
  int64_t step = 0;
  std::string time; // `2026-11-30 14:05:09`, in UTC; may be empty
  std::string what, details;
};

struct EventRows {
  std::vector<EventRow> rows;
  size_t leftOut = 0; // checkpoints and validations
};

/// The recorded events and the validations in the order of time, and where a
/// process ended without an event. Of checkpoints and of validations, only the
/// last ones are shown if there are many.
EventRows eventRowsOf(const RunFolder& run);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_RUNEVENTROWS_H
