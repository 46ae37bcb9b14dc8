// The folder of a run's checkpoints: which are there, which are whole, which
// are kept.
//
// `step-00000500/` is a checkpoint that is whole; `step-00000500.tmp/` is one
// that is being written, or being removed, or what a process that died has left
// of either. A checkpoint appears by one rename, when all its files and its
// manifest are on the disk.

#ifndef RECIPERUN_CHECKPOINT_CHECKPOINTFOLDER_H
#define RECIPERUN_CHECKPOINT_CHECKPOINTFOLDER_H

#include "runtime/checkpoint/Manifest.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// How many are kept: the `last` saved last, and the `top` with the lowest
/// validation loss. A checkpoint that was not validated is none of the best.
struct Keep {
  int64_t last = 1;
  int64_t top = 0;
};

class CheckpointFolder {
public:
  explicit CheckpointFolder(std::filesystem::path path)
      : folder(std::move(path)) {}

  const std::filesystem::path& path() const { return folder; }
  std::filesystem::path checkpoint(int64_t step) const;
  std::filesystem::path staging(int64_t step) const;

  /// Reads the manifests of what is there. Damaged checkpoints stay where they
  /// are and count for none: `notes` says why.
  Status open();
  /// Makes the folder, and removes what writers that died have left.
  Status prepare() const;
  const std::vector<std::string>& notes() const { return messages; }

  /// The step of the checkpoint that was saved last; nothing where none is.
  std::optional<int64_t> newest() const;

  /// Completes the checkpoint whose files are in `staging(step)`: gives the
  /// manifest its serial number, compares the files with it, writes it, and
  /// puts the folder in place. Then removes what `keep` does not keep.
  Status publish(Manifest manifest, const Keep& keep);
  /// What could not be removed since this was asked last, and why.
  std::vector<std::string> takeLeftovers();

private:
  struct Entry {
    int64_t serial = 0;
    std::optional<double> validLoss;
  };

  void prune(const Keep& keep);

  std::filesystem::path folder;
  std::map<int64_t, Entry> entries; // by step
  std::vector<std::string> messages, leftovers;
};

/// The step of a checkpoint's folder by its name; nothing for other names.
std::optional<int64_t> stepOfName(std::string_view name);

/// Whether a path is a checkpoint rather than a model's folder.
bool isCheckpoint(const std::filesystem::path& path);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CHECKPOINTFOLDER_H
