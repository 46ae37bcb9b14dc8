// One job at a time in a folder.
//
// The lock is one of the system's on a file (fcntl(2), open file description
// locks, which NFS passes on to its server): it ends with the process that
// holds it, however that ends, so that what a killed job leaves locks nobody
// out. The file stays, and says who had the lock last.

#ifndef RECIPERUN_CHECKPOINT_FOLDERLOCK_H
#define RECIPERUN_CHECKPOINT_FOLDERLOCK_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Files.h"

#include <filesystem>
#include <string>

namespace reciperun::checkpoint {

/// The file of the lock of a run's folder.
std::filesystem::path runLockFile(const std::filesystem::path& run);
/// That of a folder of checkpoints; it lies beside the folder, which holds
/// checkpoints alone.
std::filesystem::path checkpointsLockFile(const std::filesystem::path& folder);

class FolderLock {
public:
  /// Takes the lock, and writes this process into its file; the folder that
  /// the file is in exists. A process that is ending may hold it for a moment
  /// yet, for which it waits. Fails, with the process, host and time that the
  /// file names, where another has the lock: `inUse` is what then is in use.
  static Expected<FolderLock> take(const std::filesystem::path& file,
                                   const std::string& inUse);

  /// What to tell where the file system has no locks; mostly empty.
  const std::string& note() const { return complaint; }

private:
  Descriptor descriptor;
  std::string complaint;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FOLDERLOCK_H
