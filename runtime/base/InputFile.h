// Opens files for reading. The runtime reads every file through this class.
//
// It reads pieces instead of mapping the file. A truncated file or a failing
// disk is then a Status and not a signal, and the pages of a large file do not
// count as memory of the process. Only regular files are accepted: a FIFO or a
// device could block the process forever. A path may also be an address
// (RemoteFiles.h).

#ifndef RECIPERUN_BASE_INPUTFILE_H
#define RECIPERUN_BASE_INPUTFILE_H

#include "runtime/base/RemoteFiles.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace reciperun {

class InputFile {
public:
  /// Fails without blocking when the path cannot be opened or is not a regular
  /// file.
  static Expected<InputFile> open(const std::filesystem::path& path);
  /// Likewise, for a file that is read as a whole or at random: a remote file
  /// is first copied to a folder of this host, unless it is already there.
  static Expected<InputFile> openNearby(const std::filesystem::path& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::filesystem::path& path() const { return where; }
  /// The size in bytes when the file was opened.
  int64_t size() const { return bytes; }
  /// Fills `out` from `offset`. Fails with the offset and the cause when the
  /// file ends too early or the system cannot read it.
  Status read(int64_t offset, std::span<std::byte> out) const;
  /// Fills several ranges; those of a remote file at the same time.
  Status read(std::span<const FileRange> ranges) const;
  /// Whether each read is a request to an object store, so that few large reads
  /// are much faster than many small ones.
  bool isRemote() const { return remote != nullptr; }

private:
  InputFile(std::filesystem::path path, int descriptor);
  static Expected<InputFile> openRemote(const std::filesystem::path& address);
  static Expected<InputFile> openLocal(const std::filesystem::path& path);

  std::filesystem::path where;
  int descriptor = -1;
  std::unique_ptr<RemoteInput> remote; // in place of the descriptor
  int64_t bytes = 0;
};

/// Reads a whole file. Fails when it is larger than `limit` bytes or memory is
/// insufficient.
Expected<std::string> readTextFile(const std::filesystem::path& path,
                                   int64_t limit = int64_t(256) << 20);

} // namespace reciperun

#endif // RECIPERUN_BASE_INPUTFILE_H
