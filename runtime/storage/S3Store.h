// The objects of a bucket below a prefix.

#ifndef RECIPERUN_STORAGE_S3STORE_H
#define RECIPERUN_STORAGE_S3STORE_H

#include "runtime/storage/ObjectStore.h"
#include "runtime/storage/S3Client.h"

#include <functional>
#include <memory>

namespace reciperun::storage {

class S3Store : public ObjectStore {
public:
  S3Store(std::shared_ptr<S3Client> client, Address root);

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
  struct Piece;

  std::string prefixOf(std::string_view folder) const;
  std::string nameOf(const std::string& key) const;
  Status readPiece(const Object& object, Piece& piece);
  Status readOnce(const Object& object, std::span<const ByteRange> ranges);
  Expected<Object> putParts(std::string_view name,
                            std::span<const std::byte> data,
                            const Precondition& precondition);
  Status removeSome(std::span<const std::string> names);
  Status eachPage(const std::string& prefix, bool isDeep, Listing& listing);

  std::shared_ptr<S3Client> client;
  Address rootAddress;
  std::string rootText;
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_S3STORE_H
