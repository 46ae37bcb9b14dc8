// Gives a program's readers and writers the files of object stores.

#ifndef RECIPERUN_STORAGE_OBJECTFILES_H
#define RECIPERUN_STORAGE_OBJECTFILES_H

#include "runtime/base/RemoteFiles.h"

#include <filesystem>
#include <memory>

namespace reciperun::storage {

/// Access to `s3://` addresses for base/RemoteFiles.h. Copies of files that are
/// read nearby are kept in the folder `cache`, under names that change with the
/// contents; processes of one host share them.
std::unique_ptr<RemoteFiles> objectFiles(std::filesystem::path cache);

/// `reciperun/objects` in the user's cache folder, $XDG_CACHE_HOME or ~/.cache,
/// or else in the folder of temporary files.
std::filesystem::path objectCache();

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_OBJECTFILES_H
