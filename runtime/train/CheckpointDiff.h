// What `reciperun checkpoint diff` prints.

#ifndef RECIPERUN_TRAIN_CHECKPOINTDIFF_H
#define RECIPERUN_TRAIN_CHECKPOINTDIFF_H

#include "runtime/base/Status.h"

#include <filesystem>

namespace reciperun::train {

struct DiffStyle {
  bool json = false;
  bool all = false; // parameters, rather than those that differ most
};

/// Compares two checkpoints and prints how they differ.
Status printDifferences(const std::filesystem::path& a,
                        const std::filesystem::path& b, const DiffStyle& style);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_CHECKPOINTDIFF_H
