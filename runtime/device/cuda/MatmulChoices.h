// A file of the fastest matmul algorithms. They are measured once; later runs
// repeat the choices and so give bit-identical results.
//
// Text, one line per matmul:
//   NVIDIA H200 | cublasLt 130100 | 8192 4096 4096 ... = 8 words of 16 digits
// The text before the `=` is the key. Lines of other GPUs and library versions
// are kept. A file with a different first line is not ours and is not changed.

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
  /// An algorithm as the library describes it: opaque, and specific to its
  /// version.
  using Algorithm = std::array<uint64_t, 8>;

  /// reciperun/matrix-products in the user's cache directory; empty when the
  /// environment names no such directory.
  static std::filesystem::path defaultFile();

  /// Reads a file; call it once. An absent file is empty. Fails when the file
  /// is not ours or cannot be read. The caller can go on: choices are then made
  /// again.
  Status load(const std::filesystem::path& file);

  std::optional<Algorithm> find(const std::string& key) const;

  /// Remembers a choice for save. It replaces a known choice that could not be
  /// used.
  void keep(const std::string& key, const Algorithm& algorithm);

  /// Adds the remembered choices to the current contents of the file, unless
  /// other ranks have written the same. Writes a temporary file and renames it.
  Status save();

private:
  using Lines = std::map<std::string, Algorithm>;
  Status read(Lines& lines) const;

  std::filesystem::path file; // empty: none
  Lines known, added, refused;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MATMULCHOICES_H
