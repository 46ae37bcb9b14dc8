// What is wrong with a checkpoint, if anything.
//
// Damage is proven: a file is there, can be read, and is not what was written,
// or is proven to be absent. What cannot be read, or is of a newer version, may
// be whole: nobody goes on as if it were not there.

#ifndef RECIPERUN_CHECKPOINT_VERIFY_H
#define RECIPERUN_CHECKPOINT_VERIFY_H

#include "runtime/checkpoint/Manifest.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The worse comes later.
enum class Condition { whole, damaged, unreadable };

/// A checkpoint by its manifest and the sizes of its files.
struct Examined {
  Condition condition = Condition::whole;
  std::string reason;               // why it is not whole
  std::optional<Manifest> manifest; // where it can be read
};
Examined examine(const std::filesystem::path& checkpoint);

/// A checkpoint by all of its bytes.
struct Verified {
  Condition condition = Condition::whole; // the worst of all findings
  std::vector<std::string> findings;      // a message for each
  int64_t checkedBytes = 0;               // compared with checksums
  int64_t uncheckedBytes = 0;             // of files that have none

  void add(Condition found, const std::string& message);
};

/// Called with the bytes that have been read, and those of all files.
using VerifyProgress = std::function<void(int64_t done, int64_t all)>;

/// Reads all files of a checkpoint and compares them with its manifest.
Verified verify(const std::filesystem::path& checkpoint,
                const VerifyProgress& progress = {});

/// The same of the file of one number in the manifest.
Verified verifyFile(const std::filesystem::path& checkpoint,
                    const Manifest& manifest, size_t number,
                    const VerifyProgress& progress = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_VERIFY_H
