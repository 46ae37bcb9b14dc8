// What a run goes by, as its checkpoints keep it: a run that goes on can tell
// what is not as it was.

#ifndef RECIPERUN_TRAIN_SETTINGS_H
#define RECIPERUN_TRAIN_SETTINGS_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// The settings of a plan that decide what its steps compute, by the names of
/// the recipe's fields: data, batch, optimizer, schedule and seeds. Of files
/// the contents count, not their names: how many there are, their bytes and a
/// hash, which is of samples where they are large. Fails where a file cannot be
/// read.
Expected<std::vector<checkpoint::Setting>> settingsOf(const plan::Plan& plan);

/// How the files of a source read: `2 files, 1234 bytes, 06b0...`.
Expected<std::string> contentsOf(const std::vector<std::string>& files);

/// A setting that is not as it was; empty values stand for none.
struct Change {
  std::string name;
  std::string before;
  std::string now;

  /// "`data.sequence`: 64 -> 128".
  std::string text() const;
};
/// In the order of `now`, those that it lacks in the end.
std::vector<Change> changesOf(const std::vector<checkpoint::Setting>& before,
                              const std::vector<checkpoint::Setting>& now);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SETTINGS_H
