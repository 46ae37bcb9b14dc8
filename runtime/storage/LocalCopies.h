// Copies of objects in a folder of this host, for files that are read at random
// or more than once.

#ifndef RECIPERUN_STORAGE_LOCALCOPIES_H
#define RECIPERUN_STORAGE_LOCALCOPIES_H

#include "runtime/storage/ObjectStore.h"

#include <filesystem>
#include <string>

namespace reciperun::storage {

class LocalCopies {
public:
  explicit LocalCopies(std::filesystem::path folder)
      : folder(std::move(folder)) {}

  /// The path of a copy of the object at `address`. Makes it unless there is
  /// one of the same ETag and size. Of the processes of a host one copies and
  /// the others wait. Fails when the run is asked to stop.
  Expected<std::filesystem::path> of(const std::string& address,
                                     ObjectStore& store, const Object& object);

private:
  std::filesystem::path folder;
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_LOCALCOPIES_H
