// Prints the output of `reciperun checkpoint diff`.

#ifndef RECIPERUN_TRAIN_CHECKPOINTDIFF_H
#define RECIPERUN_TRAIN_CHECKPOINTDIFF_H

#include "runtime/base/Status.h"

#include <filesystem>

namespace reciperun::train {

struct DiffStyle {
  bool json = false;
  bool all = false; // list all parameters that differ, not only the first ones
};

/// Compares two checkpoints and prints their differences.
Status printDifferences(const std::filesystem::path& a,
                        const std::filesystem::path& b, const DiffStyle& style);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_CHECKPOINTDIFF_H
