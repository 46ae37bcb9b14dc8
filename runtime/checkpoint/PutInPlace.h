// A folder that takes another's place in one step.

#ifndef RECIPERUN_CHECKPOINT_PUTINPLACE_H
#define RECIPERUN_CHECKPOINT_PUTINPLACE_H

#include "runtime/base/Status.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// Brings the entries of the folder `staging` to the disk and gives it the name
/// `target`, beside it. A folder of that name is removed afterwards: whoever
/// looks sees the one or the other, whole. After a failure `target` is as it
/// was.
Status putInPlace(const std::filesystem::path& staging,
                  const std::filesystem::path& target);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_PUTINPLACE_H
