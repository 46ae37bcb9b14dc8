// A file of the algorithms that were fastest for matrix products, so that they
// are measured once, and a run repeats the choices of the runs before, and with
// them their bits.
//
// Text, a line a product:
//   NVIDIA H200 | cublasLt 130100 | 8192 4096 4096 ... = 8 words of 16 digits
// What stands before the `=` is the key; lines of other GPUs and libraries are
// kept. A file whose first line is another is not ours, and left alone.

#ifndef RECIPERUN_DEVICE_CUDA_MATMULCHOICES_H
#define RECIPERUN_DEVICE_CUDA_MATMULCHOICES_H

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace reciperun::device {

class MatmulChoices {
public:
  /// An algorithm as the library describes it: opaque, and of its version.
  using Algorithm = std::array<uint64_t, 8>;

  /// reciperun/matrix-products in the user's cache directory; empty where the
  /// environment names none.
  static std::filesystem::path defaultFile();

  /// Reads a file, once; an absent one is empty. Fails where it is not ours or
  /// cannot be read, which is no reason to stop: choices are then made again.
  Status load(const std::filesystem::path& file);

  std::optional<Algorithm> find(const std::string& key) const;

  /// Remembers a choice for save; one that was known did not serve.
  void keep(const std::string& key, const Algorithm& algorithm);

  /// Adds what was kept to the file, as it is now, where other ranks have not
  /// written the same before; written aside and renamed.
  Status save();

private:
  using Lines = std::map<std::string, Algorithm>;
  Status read(Lines& lines) const;

  std::filesystem::path file; // empty: none
  Lines known, added, refused;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MATMULCHOICES_H
