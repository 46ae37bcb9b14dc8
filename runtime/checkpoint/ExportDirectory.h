// Writes a model's directory to a staging directory and renames it when
// complete.

#ifndef RECIPERUN_CHECKPOINT_EXPORTDIRECTORY_H
#define RECIPERUN_CHECKPOINT_EXPORTDIRECTORY_H

#include "runtime/base/Status.h"

#include <filesystem>
#include <vector>

namespace reciperun::checkpoint {

/// The kind of directory. It may only replace a directory of the same kind.
enum class Contents {
  model,      // of Hugging Face, or an adapter of peft
  checkpoint, // see Manifest.h
};

/// Whether an earlier export at the directory may be replaced.
enum class Existing { replace, refuse };

/// Checks that an export to `directory` can succeed: its parent can be created
/// and written to, and the export would not destroy other files. It may replace
/// an earlier export, but not a folder with other files. Called before
/// training, so that no training time is lost.
Status checkWritable(const std::filesystem::path& directory);

/// A staging directory, `DIRECTORY.tmp-HOST-PID`. It is removed unless
/// committed, and so are the parent folders that it needed. Leftovers of killed
/// processes are removed by the next export to the same directory on that host.
///
/// An object store cannot rename. At an address the files of an earlier export
/// are removed first, and files appear there as they are written: the writer
/// writes the one last without which readers take the folder for no model.
class ExportDirectory {
public:
  static Expected<ExportDirectory>
  create(const std::filesystem::path& directory,
         Contents contents = Contents::model,
         Existing existing = Existing::replace);
  ExportDirectory(ExportDirectory&& other) noexcept;
  ExportDirectory& operator=(ExportDirectory&&) = delete;
  ~ExportDirectory();

  /// The directory to write files to before the commit.
  const std::filesystem::path& path() const { return staging; }
  /// Renames the staging directory atomically; removes an earlier export
  /// afterwards. At an address all is done.
  Status commit();

private:
  ExportDirectory() = default;

  static Expected<ExportDirectory>
  createRemote(const std::filesystem::path& place, Contents contents,
               Existing existing);
  void removeStaging();

  Contents contents = Contents::model;
  Existing existing = Existing::replace;
  std::vector<std::filesystem::path> parents; // made for it, innermost first
  std::filesystem::path target;
  std::filesystem::path staging; // empty when there is nothing to remove
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_EXPORTDIRECTORY_H
