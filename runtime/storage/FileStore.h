// The files of a local folder as objects. A file is written as `NAME.partial`
// and renamed.

#ifndef RECIPERUN_STORAGE_FILESTORE_H
#define RECIPERUN_STORAGE_FILESTORE_H

#include "runtime/storage/ObjectStore.h"

#include <filesystem>

namespace reciperun::storage {

/// Its objects have no ETag and no checksum, and Precondition::matches is
/// refused. The folders of a name are created when it is written.
class FileStore : public ObjectStore {
public:
  explicit FileStore(std::filesystem::path folder);

  using ObjectStore::put;
  using ObjectStore::read;

  const std::string& root() const override { return rootText; }
  Expected<std::optional<Object>> find(std::string_view name) override;
  Status read(const Object& object, std::span<const ByteRange> ranges) override;
  Expected<std::string> readText(std::string_view name, int64_t limit,
                                 Object* found) override;
  Expected<Object> put(std::string_view name, std::span<const std::byte> data,
                       const Precondition& precondition) override;
  int64_t partBytes(int64_t objectBytes) const override;
  Expected<std::unique_ptr<Upload>>
  upload(std::string_view name, const UploadOptions& options) override;
  Expected<Listing> list(std::string_view folder) override;
  Expected<std::vector<Object>> listAll(std::string_view folder) override;
  Status remove(const std::vector<std::string>& names) override;
  Expected<std::vector<OpenUpload>>
  openUploads(std::string_view folder) override;
  Status discard(const OpenUpload& upload) override;

private:
  Status walk(const std::filesystem::path& folder, bool isDeep,
              Listing& listing) const;

  std::filesystem::path folder;
  std::string rootText;
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_FILESTORE_H
