// Copies objects between two stores, in parts sent at once.

#ifndef RECIPERUN_STORAGE_COPYOBJECTS_H
#define RECIPERUN_STORAGE_COPYOBJECTS_H

#include "runtime/storage/ObjectStore.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace reciperun::storage {

struct CopyOptions {
  int parallel = 8; // parts on their way, each with a buffer of its size
  /// Reports the bytes that are copied or need no copy, and all. Called by one
  /// thread at a time.
  std::function<void(int64_t done, int64_t all)> progress;
  /// Called before each part; a failure ends the copy.
  std::function<Status()> goesOn;
};

struct CopyResult {
  int64_t objects = 0;
  int64_t bytes = 0;       // of all objects
  int64_t keptObjects = 0; // that the target had already
  int64_t copiedBytes = 0;
};

/// Copies objects to the same names in `to`. Leaves those of which the target
/// has the same size and CRC32C: a copy that was interrupted goes on where it
/// ended. Compares the bytes with their checksums on the way, discards uploads
/// that an interrupted copy has left, and makes an object visible only when it
/// is complete.
Expected<CopyResult> copyObjects(ObjectStore& from, ObjectStore& to,
                                 const std::vector<Object>& objects,
                                 const CopyOptions& options);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_COPYOBJECTS_H
