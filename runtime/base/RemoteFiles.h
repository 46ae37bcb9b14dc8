// Files at addresses, `s3://bucket/key`, in place of paths.
//
// An address is kept in a std::filesystem::path as it is written: `/` and
// parent_path() work on it, functions that make a path absolute do not. The
// functions below work on both, so that readers need not tell them apart. A
// program installs its access to object stores at its start
// (runtime/storage/ObjectFiles.h); without it an address cannot be opened.

#ifndef RECIPERUN_BASE_REMOTEFILES_H
#define RECIPERUN_BASE_REMOTEFILES_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reciperun {

/// Whether a path is an address, `SCHEME://...`.
bool isAddress(const std::filesystem::path& path);

/// Bytes to read from a file.
struct FileRange {
  int64_t offset = 0;
  std::span<std::byte> out;
};

/// A remote file that is open for reading. Thread-safe.
class RemoteInput {
public:
  virtual ~RemoteInput() = default;
  virtual int64_t size() const = 0;
  /// Fills all ranges, several at a time. The ranges are within the file. Fails
  /// when the file has been replaced since it was opened.
  virtual Status read(std::span<const FileRange> ranges) const = 0;
};

/// What becomes of an earlier file of the same name.
enum class Earlier { replace, refuse };

/// What is known of a file before it is written.
struct OutputHints {
  int64_t bytes = 0;     // of the whole file; 0: unknown
  int64_t rewritten = 0; // of its first bytes, that may be rewritten
};

/// A remote file that is written sequentially. It appears when it is committed;
/// what an uncommitted one has sent is removed.
class RemoteOutput {
public:
  virtual ~RemoteOutput() = default;
  virtual Status append(std::span<const std::byte> data) = 0;
  /// Overwrites some of the first OutputHints::rewritten bytes.
  virtual Status rewrite(int64_t at, std::span<const std::byte> data) = 0;
  /// With Earlier::refuse fails when there is a file of other contents.
  virtual Status commit(Earlier earlier) = 0;
};

/// An entry of a remote folder.
struct RemoteEntry {
  std::string name; // relative to the folder
  int64_t bytes = 0;
  bool isFolder = false;
  int64_t modified = 0; // seconds since 1970; 0 for a folder
};

/// Access to remote files. All addresses are complete. Thread-safe. Failures
/// name the address, the store's answer and, where one is known, a way out.
class RemoteFiles {
public:
  virtual ~RemoteFiles() = default;

  /// The bytes of a file. Fails with StatusCode::notFound when there is none.
  virtual Expected<int64_t> size(const std::string& address) = 0;
  virtual Expected<std::unique_ptr<RemoteInput>>
  open(const std::string& address) = 0;
  virtual Expected<std::unique_ptr<RemoteOutput>>
  create(const std::string& address, const OutputHints& hints) = 0;

  enum class Depth { entries, allFiles };
  /// The entries of a folder, or all files below it, sorted by name. A folder
  /// without files does not exist: the list is then empty.
  virtual Expected<std::vector<RemoteEntry>> list(const std::string& folder,
                                                  Depth depth) = 0;
  /// Removes files; those that do not exist are ignored.
  virtual Status remove(std::span<const std::string> addresses) = 0;
  /// Removes what killed processes have sent of uncommitted files in a folder
  /// and below it.
  virtual Status abandonUploads(const std::string& folder) = 0;
  /// The path of a local copy of a file, which is made when there is none yet.
  virtual Expected<std::filesystem::path>
  localCopy(const std::string& address) = 0;
};

/// Installs the access of this program. Call it before any file is opened.
void useRemoteFiles(std::unique_ptr<RemoteFiles> files);

/// The program's access to an address. Fails when there is none for its scheme.
Expected<RemoteFiles*> remoteFilesOf(const std::filesystem::path& address);

/// The type of what is at a path, with links followed; `none` when that cannot
/// be told, as for an object store that refuses access.
std::filesystem::file_type typeOf(const std::filesystem::path& path);
/// Whether there is a file or a folder, as far as that can be told.
bool isThere(const std::filesystem::path& path);
/// Whether a path is proven not to exist.
bool isAbsent(const std::filesystem::path& path);
/// Whether a path is that of a folder, as far as that can be told.
bool isFolder(const std::filesystem::path& path);

} // namespace reciperun

#endif // RECIPERUN_BASE_REMOTEFILES_H
