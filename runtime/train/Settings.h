// The settings of a run, as its checkpoints store them, so that a resumed run
// can report what changed.

#ifndef RECIPERUN_TRAIN_SETTINGS_H
#define RECIPERUN_TRAIN_SETTINGS_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// The settings of a plan that determine the results of its steps, named as in
/// the recipe: data, batch, optimizer, schedule and seeds. Files are described
/// by their contents, not their names: count, bytes and a hash, which covers
/// only samples of large files. Fails when a file cannot be read.
Expected<std::vector<checkpoint::Setting>> settingsOf(const plan::Plan& plan);

/// Describes the contents of a source's files: `2 files, 1234 bytes, 06b0...`.
Expected<std::string> contentsOf(const std::vector<std::string>& files);

/// A setting that differs; an empty value means that the setting is missing.
struct Change {
  std::string name;
  std::string before;
  std::string now;

  /// "`data.sequence`: 64 -> 128".
  std::string text() const;
};
/// The differences in the order of `now`, followed by settings that `now`
/// lacks.
std::vector<Change> changesOf(const std::vector<checkpoint::Setting>& before,
                              const std::vector<checkpoint::Setting>& now);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SETTINGS_H
