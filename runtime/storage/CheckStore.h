// Tries a store: what it supports, and how fast it is.

#ifndef RECIPERUN_STORAGE_CHECKSTORE_H
#define RECIPERUN_STORAGE_CHECKSTORE_H

#include "runtime/base/Status.h"
#include "runtime/storage/ObjectStore.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::storage {

/// Something that a store should do.
struct StoreFeature {
  std::string name; // for JSON: `conditional_create`
  std::string what; // `writes an object only if there is none`
  bool holds = false;
  std::string otherwise; // what follows when it does not
};

struct StoreReport {
  std::vector<StoreFeature> features;
  int64_t bytes = 0; // of the object that was timed
  double writeSeconds = 0;
  double readSeconds = 0;
};

/// Writes, reads, lists and removes objects in a new folder
/// `recipec-check-...` of the store, one of them of `bytes` in parts, and
/// leaves nothing. Fails when the store does not do one of these four as it
/// should.
Expected<StoreReport> checkStore(ObjectStore& store, int64_t bytes);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_CHECKSTORE_H
