// renameat2(2) exchanges two folders atomically. If the file system does not
// support it, the old folder is renamed first.

#include "runtime/checkpoint/PutInPlace.h"

#include "runtime/checkpoint/Files.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Exchanges the folders and sets `old` to the new path of the old `target`.
Status exchange(const fs::path& staging, const fs::path& target,
                fs::path& old) {
  old = staging;
  if (renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, target.c_str(),
                RENAME_EXCHANGE) == 0)
    return Status::ok();
  if (errno != EINVAL && errno != ENOSYS)
    return systemError("replace", target, errno);
  old = target;
  old += ".old-" + std::to_string(getpid());
  if (rename(target.c_str(), old.c_str()) != 0)
    return systemError("replace", target, errno);
  if (rename(staging.c_str(), target.c_str()) == 0)
    return Status::ok();
  Status failure = systemError("replace", target, errno);
  // Best effort: the failure is reported either way.
  (void)rename(old.c_str(), target.c_str());
  return failure;
}

} // namespace

Status putInPlace(const fs::path& staging, const fs::path& target) {
  RECIPERUN_TRY(syncDirectory(staging));
  std::error_code code;
  if (!fs::exists(target, code)) {
    if (rename(staging.c_str(), target.c_str()) != 0)
      return systemError("write", target, errno);
    return syncDirectory(target.parent_path());
  }
  fs::path old;
  RECIPERUN_TRY(exchange(staging, target, old));
  RECIPERUN_TRY(syncDirectory(target.parent_path()));
  fs::remove_all(old, code);
  return Status::ok();
}

} // namespace reciperun::checkpoint
