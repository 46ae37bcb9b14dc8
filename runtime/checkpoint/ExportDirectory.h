// A model's directory that is written aside and then takes its place whole.

#ifndef RECIPERUN_CHECKPOINT_EXPORTDIRECTORY_H
#define RECIPERUN_CHECKPOINT_EXPORTDIRECTORY_H

#include "runtime/base/Status.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// What a directory is written for: a directory of the same kind may be
/// replaced.
enum class Contents {
  model,      // of Hugging Face, or an adapter of peft
  checkpoint, // see Manifest.h
};

/// Whether an export to `directory` can succeed: its parent can be made and
/// written to, and nothing stands at the place that an export would destroy.
/// An earlier export may be replaced; a folder with other files may not. Meant
/// for before a training, so that hours are not lost.
Status checkWritable(const std::filesystem::path& directory);

/// `DIRECTORY.tmp-HOST-PID` while it grows. Without `commit` it is removed;
/// what a process that was killed has left of one, the next to be made for the
/// same directory on the host removes.
class ExportDirectory {
public:
  static Expected<ExportDirectory>
  create(const std::filesystem::path& directory,
         Contents contents = Contents::model);
  ExportDirectory(ExportDirectory&& other) noexcept;
  ExportDirectory& operator=(ExportDirectory&&) = delete;
  ~ExportDirectory();

  /// Where the files are written for now.
  const std::filesystem::path& path() const { return staging; }
  /// Puts everything in place by one exchange; an earlier export is removed
  /// afterwards.
  Status commit();

private:
  ExportDirectory() = default;

  Contents contents = Contents::model;
  std::filesystem::path target;
  std::filesystem::path staging; // empty when there is nothing to remove
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_EXPORTDIRECTORY_H
