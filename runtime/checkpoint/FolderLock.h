// Locks a folder for one job at a time.
//
// The lock is an open file description lock of fcntl(2) on a file, which NFS
// forwards to its server. The system releases it when the process ends in any
// way, so a killed job leaves no stale lock. The file remains and names the
// last holder.

#ifndef RECIPERUN_CHECKPOINT_FOLDERLOCK_H
#define RECIPERUN_CHECKPOINT_FOLDERLOCK_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Files.h"

#include <filesystem>
#include <string>

namespace reciperun::checkpoint {

/// The lock file of a run's folder.
std::filesystem::path runLockFile(const std::filesystem::path& run);
/// The lock file of a folder of checkpoints. It is next to the folder, which
/// contains only checkpoints.
std::filesystem::path checkpointsLockFile(const std::filesystem::path& folder);

class FolderLock {
public:
  /// Takes the lock, and writes this process into its file; the file's folder
  /// must exist. Waits briefly for a process that is exiting. Fails when
  /// another process holds the lock, with the process, host and time in the
  /// file. `inUse` names the locked resource for the message.
  static Expected<FolderLock> take(const std::filesystem::path& file,
                                   const std::string& inUse);

  /// A warning when the file system has no locks; usually empty.
  const std::string& note() const { return complaint; }

private:
  Descriptor descriptor;
  std::string complaint;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FOLDERLOCK_H
