// Finds damage in a checkpoint.
//
// Damage is proven: a file can be read and differs from what was written, or is
// proven to be absent. A checkpoint that cannot be read, or is of a newer
// version, may be complete, so it is never ignored.

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

/// Ordered by severity.
enum class Condition { whole, damaged, unreadable };

/// The result of checking a checkpoint's manifest and the sizes of its files.
struct Examined {
  Condition condition = Condition::whole;
  std::string reason;               // why it is not whole
  std::optional<Manifest> manifest; // if it can be read
};
Examined examine(const std::filesystem::path& checkpoint);

/// The result of checking all bytes of a checkpoint.
struct Verified {
  Condition condition = Condition::whole; // the worst of all findings
  std::vector<std::string> findings;      // a message for each
  int64_t checkedBytes = 0;               // compared with checksums
  int64_t uncheckedBytes = 0;             // in files without checksums

  void add(Condition found, const std::string& message);
};

/// Called with the number of bytes read so far, and the total of all files.
using VerifyProgress = std::function<void(int64_t done, int64_t all)>;

/// Reads all files of a checkpoint and compares them with its manifest.
Verified verify(const std::filesystem::path& checkpoint,
                const VerifyProgress& progress = {});

/// Verifies the file with one index in the manifest.
Verified verifyFile(const std::filesystem::path& checkpoint,
                    const Manifest& manifest, size_t number,
                    const VerifyProgress& progress = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_VERIFY_H
