// Replaces a folder by another one atomically.

#ifndef RECIPERUN_CHECKPOINT_PUTINPLACE_H
#define RECIPERUN_CHECKPOINT_PUTINPLACE_H

#include "runtime/base/Status.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// Flushes the entries of the folder `staging` to the disk and renames it to
/// `target`, in the same parent folder. An existing `target` is removed
/// afterwards: readers see either the old or the new folder, complete. A
/// failure leaves `target` unchanged.
Status putInPlace(const std::filesystem::path& staging,
                  const std::filesystem::path& target);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_PUTINPLACE_H
