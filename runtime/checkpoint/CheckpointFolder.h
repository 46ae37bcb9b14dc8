// The folder of a run's checkpoints: lists complete and damaged ones, publishes
// new ones and removes old ones.
//
// `step-00000500/` is a complete checkpoint. `step-00000500.tmp/` is being
// written or removed, or is a leftover of a process that died. A checkpoint
// appears by one rename, after all its files and its manifest are on the disk.
//
// An object store cannot rename. At an address the files are written under
// their final names, and the manifest last, which makes the checkpoint
// complete; it is the first to be removed. `step-00000500/` without a manifest
// is what the `.tmp` folder is on a disk.

#ifndef RECIPERUN_CHECKPOINT_CHECKPOINTFOLDER_H
#define RECIPERUN_CHECKPOINT_CHECKPOINTFOLDER_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/Verify.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The retention policy: the `last` most recently saved checkpoints, and the
/// `top` with the lowest validation loss. A checkpoint without a validation
/// loss is never among the best.
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
  /// Where the files of a checkpoint are written before it is published.
  std::filesystem::path staging(int64_t step) const;

  /// Reads the manifests of all checkpoints. A damaged checkpoint is ignored
  /// and left in place; it is never removed.
  Status open();
  /// Creates the folder, and removes leftovers of writers that died. Fails when
  /// a remote folder cannot be written to.
  Status prepare() const;
  /// Called by each rank before it writes its file of a checkpoint: creates the
  /// folder `staging(step)`. At an address it removes an earlier manifest of
  /// the step, whose files are about to be replaced.
  Status begin(int64_t step) const;

  /// An incomplete or unreadable checkpoint, and why.
  struct Fault {
    int64_t step = 0;
    Condition condition = Condition::damaged;
    std::string reason;
  };
  /// Sorted by step.
  const std::vector<Fault>& faults() const { return faulty; }
  /// Marks a checkpoint that was considered complete as damaged.
  void passOver(int64_t step, const std::string& reason);
  /// Checks that `newest` is the last checkpoint of the run. Fails when a
  /// checkpoint cannot be read, since it may be the newest, and when there are
  /// checkpoints but none is complete.
  Status checkNewest() const;

  /// The step of the most recently saved checkpoint; nullopt when there is
  /// none.
  std::optional<int64_t> newest() const;
  /// The steps of all complete checkpoints, sorted.
  std::vector<int64_t> steps() const;

  /// Completes the checkpoint whose files are in `staging(step)`: gives the
  /// manifest its serial number, compares the files with it, writes it, and
  /// renames the folder. Then removes the checkpoints that `keep` does not
  /// retain. A damaged checkpoint of the same name is renamed to
  /// `NAME.damaged`, on a disk. At an address fails when another job has saved
  /// the step since `begin`.
  Status publish(Manifest manifest, const Keep& keep);
  /// The steps that `keep` does not retain, sorted.
  std::vector<int64_t> superfluous(const Keep& keep) const;
  /// Removes these checkpoints; those that cannot be removed are reported as
  /// leftovers.
  void prune(const Keep& keep);
  /// The checkpoints that could not be removed, or were renamed, since the last
  /// call.
  std::vector<std::string> takeLeftovers();

private:
  struct Entry {
    int64_t serial = 0;
    std::optional<double> validLoss;
  };

  void sortFaults();
  Status prepareRemote() const;
  Status setAside(int64_t step);
  bool remove(int64_t step);
  bool removeRemote(int64_t step);

  std::filesystem::path folder;
  std::map<int64_t, Entry> entries; // by step
  std::vector<Fault> faulty;
  std::vector<std::string> leftovers;
};

/// The step in the name of a checkpoint's folder; nullopt for other names.
std::optional<int64_t> stepOfName(std::string_view name);

/// Whether a path is a checkpoint rather than a model's folder.
bool isCheckpoint(const std::filesystem::path& path);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CHECKPOINTFOLDER_H
