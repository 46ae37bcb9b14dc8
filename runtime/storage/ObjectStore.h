// One interface to the files of a folder and the objects of a bucket.
//
// A store has a root, a folder or `s3://bucket/prefix`; names are relative to
// it and have slashes between their parts. Objects are written whole: one that
// is being written cannot be seen. All functions may be called from several
// threads.
//
// Failures name the object and the cause. Their codes:
//   notFound        there is no such object (or bucket)
//   alreadyExists   a precondition does not hold
//   unavailable     the store did not answer, or not in time, after all retries
//   unsupported     the store does not have the operation
//   internal        everything else: no credentials, no permission, damage

#ifndef RECIPERUN_STORAGE_OBJECTSTORE_H
#define RECIPERUN_STORAGE_OBJECTSTORE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::storage {

/// An object as a store describes it.
struct Object {
  std::string name; // relative to the store's root
  int64_t bytes = 0;
  /// Changes with the contents; without quotes. Empty for files.
  std::string etag;
  int64_t modified = 0; // seconds since 1970
  /// Of all bytes, where the store has it; listings do not.
  std::optional<uint32_t> crc32c;
};

/// What must hold for a write to happen. The store checks it and writes in one
/// step.
struct Precondition {
  enum class Kind { none, absent, matches };
  Kind kind = Kind::none;
  std::string etag; // of `matches`

  static Precondition none() { return {}; }
  /// There is no object of the name.
  static Precondition absent() { return {Kind::absent, {}}; }
  /// The object is the one with this ETag.
  static Precondition matches(std::string etag) {
    return {Kind::matches, std::move(etag)};
  }
};

/// The objects and the folders directly below a folder, sorted by name.
struct Listing {
  std::vector<Object> objects;
  std::vector<std::string> folders; // names without a slash at the end
};

/// Bytes to read from an object.
struct ByteRange {
  int64_t offset = 0;
  std::span<std::byte> out;
};

struct UploadOptions {
  /// The size if it is known: parts of a large object must be larger, since
  /// there are at most 10,000.
  int64_t expectedBytes = 0;
  /// The bytes at the start that `rewrite` may change. They are sent last.
  int64_t rewritableBytes = 0;
};

/// An object that is being written: from bytes appended in order, which
/// background threads send in parts meanwhile, or from parts that the caller's
/// threads send in any order. It uses one of both.
class Upload {
public:
  /// Discards an upload that has not finished, also in the store.
  virtual ~Upload() = default;

  /// Copies the bytes. Waits when several parts are being sent.
  virtual Status append(std::span<const std::byte> data) = 0;
  /// Overwrites appended bytes within UploadOptions::rewritableBytes.
  virtual Status rewrite(int64_t at, std::span<const std::byte> data) = 0;

  /// The size of all parts but the last one.
  virtual int64_t partBytes() const = 0;
  /// Sends the part that begins at byte `number` * partBytes(), from any
  /// thread.
  virtual Status writePart(int64_t number, std::span<const std::byte> data) = 0;

  /// Waits for all parts; then the object has its name. Call it once.
  virtual Expected<Object> finish(const Precondition& precondition = {}) = 0;
};

/// An upload in parts that has neither finished nor been discarded.
struct OpenUpload {
  std::string name; // relative to the store's root
  std::string id;
  int64_t started = 0; // seconds since 1970
};

class ObjectStore {
public:
  virtual ~ObjectStore() = default;

  /// The root's path or address. `textOf` is that of an object, for messages.
  virtual const std::string& root() const = 0;
  std::string textOf(std::string_view name) const;

  /// nullopt when there is no object of the name.
  virtual Expected<std::optional<Object>> find(std::string_view name) = 0;

  /// Fills `out` from `offset`, by several requests at once if it is large.
  /// Fails when the object ends too early or is no longer the one that was
  /// found. If `out` is the whole object and its checksum is known, compares
  /// them.
  Status read(const Object& object, int64_t offset, std::span<std::byte> out);
  /// Fills several ranges at once.
  virtual Status read(const Object& object,
                      std::span<const ByteRange> ranges) = 0;

  /// Reads a whole object by one request. Fails when it is larger than `limit`
  /// bytes. Gives the object, too, where `found` is not null.
  virtual Expected<std::string> readText(std::string_view name,
                                         int64_t limit = int64_t(256) << 20,
                                         Object* found = nullptr) = 0;

  /// Writes a whole object, in parts sent at once if it is large.
  virtual Expected<Object> put(std::string_view name,
                               std::span<const std::byte> data,
                               const Precondition& precondition = {}) = 0;
  Expected<Object> put(std::string_view name, std::string_view text,
                       const Precondition& precondition = {});

  /// The size of the parts in which an object of this size is written.
  virtual int64_t partBytes(int64_t objectBytes) const = 0;
  /// Begins an object whose parts have partBytes(expectedBytes).
  virtual Expected<std::unique_ptr<Upload>>
  upload(std::string_view name, const UploadOptions& options = {}) = 0;

  /// The objects and folders directly below `folder`; "" is the root. A folder
  /// that does not exist is empty.
  virtual Expected<Listing> list(std::string_view folder) = 0;
  /// All objects below `folder`, however deep, sorted by name.
  virtual Expected<std::vector<Object>> listAll(std::string_view folder) = 0;

  /// Removes objects; those that do not exist count as removed.
  virtual Status remove(const std::vector<std::string>& names) = 0;

  /// Uploads below `folder` that a killed process may have left; their parts
  /// take space.
  virtual Expected<std::vector<OpenUpload>>
  openUploads(std::string_view folder) = 0;
  virtual Status discard(const OpenUpload& upload) = 0;
  /// Discards those below `folder` whose names are wanted. A store that cannot
  /// list them keeps them, which `reciperun storage check` tells.
  Status
  discardUploads(std::string_view folder,
                 const std::function<bool(const std::string&)>& isWanted);
};

/// Opens the store of a root, a local folder or an address `s3://...`. Sends no
/// request, and creates no folder. Settings and credentials are those of AWS's
/// tools: environment, files in ~/.aws, web identity, container, instance
/// (Settings.h, Credentials.h). Stores of one process share connections.
Expected<std::unique_ptr<ObjectStore>> openStore(std::string_view root);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_OBJECTSTORE_H
