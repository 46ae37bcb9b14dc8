// An object store in memory whose writer can be killed at any operation.

#ifndef RECIPEC_TEST_RUNTIME_CHECKPOINT_MEMORYFILES_H
#define RECIPEC_TEST_RUNTIME_CHECKPOINT_MEMORYFILES_H

#include "runtime/base/RemoteFiles.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The contents of a store, which outlive the processes that use it.
struct StoreContents {
  std::map<std::string, std::string> files; // by address
  std::vector<std::string> uploads;         // addresses of uncommitted files
  int64_t reads = 0;                        // calls that read
  int64_t readBytes = 0;
  /// Operations until the process is killed: later ones fail and change
  /// nothing.
  int64_t operationsLeft = std::numeric_limits<int64_t>::max();
  /// Whether the answer to a refused commit that has succeeded is lost.
  bool losesAnswers = false;
};

/// Installs access to a store in memory.
void useStoreInMemory(const std::shared_ptr<StoreContents>& contents);

} // namespace reciperun::checkpoint

#endif // RECIPEC_TEST_RUNTIME_CHECKPOINT_MEMORYFILES_H
