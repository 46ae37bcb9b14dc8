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
#include "runtime/checkpoint/Verify.h"

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

  /// Reads the manifests of what is there. A checkpoint that is not whole stays
  /// where it is and counts for none; it is never removed.
  Status open();
  /// Makes the folder, and removes what writers that died have left.
  Status prepare() const;

  /// A checkpoint that is not whole, and why.
  struct Fault {
    int64_t step = 0;
    Condition condition = Condition::damaged;
    std::string reason;
  };
  /// By step.
  const std::vector<Fault>& faults() const { return faulty; }
  /// Has a checkpoint that was taken for whole count as damaged.
  void passOver(int64_t step, const std::string& reason);
  /// Whether `newest` is where the run stands. Fails where some checkpoint
  /// cannot be read, which may be the newest, and where there are some and none
  /// is whole.
  Status checkNewest() const;

  /// The step of the checkpoint that was saved last; nothing where none is.
  std::optional<int64_t> newest() const;
  /// All that are whole, by step.
  std::vector<int64_t> steps() const;

  /// Completes the checkpoint whose files are in `staging(step)`: gives the
  /// manifest its serial number, compares the files with it, writes it, and
  /// puts the folder in place. Then removes what `keep` does not keep. What is
  /// there under its name and not whole is renamed to `NAME.damaged`.
  Status publish(Manifest manifest, const Keep& keep);
  /// Those that `keep` does not keep, by step.
  std::vector<int64_t> superfluous(const Keep& keep) const;
  /// Removes them; what cannot be removed is a leftover.
  void prune(const Keep& keep);
  /// What could not be removed, or was moved, since this was asked last.
  std::vector<std::string> takeLeftovers();

private:
  struct Entry {
    int64_t serial = 0;
    std::optional<double> validLoss;
  };

  void sortFaults();
  Status setAside(int64_t step);
  bool remove(int64_t step);

  std::filesystem::path folder;
  std::map<int64_t, Entry> entries; // by step
  std::vector<Fault> faulty;
  std::vector<std::string> leftovers;
};

/// The step of a checkpoint's folder by its name; nothing for other names.
std::optional<int64_t> stepOfName(std::string_view name);

/// Whether a path is a checkpoint rather than a model's folder.
bool isCheckpoint(const std::filesystem::path& path);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CHECKPOINTFOLDER_H
