// See ObjectStore.h.

#include "runtime/storage/ObjectStore.h"

#include "runtime/storage/Address.h"
#include "runtime/storage/FileStore.h"
#include "runtime/storage/S3Store.h"

namespace reciperun::storage {

std::string ObjectStore::textOf(std::string_view name) const {
  return name.empty() ? root() : root() + "/" + std::string(name);
}

Status ObjectStore::read(const Object& object, int64_t offset,
                         std::span<std::byte> out) {
  const ByteRange range{offset, out};
  return read(object, std::span(&range, 1));
}

Expected<Object> ObjectStore::put(std::string_view name, std::string_view text,
                                  const Precondition& precondition) {
  return put(name, std::as_bytes(std::span(text)), precondition);
}

Status ObjectStore::discardUploads(
    std::string_view folder,
    const std::function<bool(const std::string&)>& isWanted) {
  const auto uploads = openUploads(folder);
  if (!uploads && uploads.status().code() == StatusCode::unsupported)
    return Status::ok();
  RECIPERUN_TRY(uploads);
  for (const OpenUpload& upload : *uploads)
    if (isWanted(upload.name))
      RECIPERUN_TRY(discard(upload));
  return Status::ok();
}

Expected<std::unique_ptr<ObjectStore>> openStore(std::string_view root) {
  if (!isAddress(root) && root.find("://") == root.npos)
    return std::unique_ptr<ObjectStore>(std::make_unique<FileStore>(root));
  Expected<Address> address = parseAddress(root);
  RECIPERUN_TRY(address);
  Expected<std::shared_ptr<S3Client>> client = S3Client::shared();
  RECIPERUN_TRY(client);
  return std::unique_ptr<ObjectStore>(
      std::make_unique<S3Store>(*std::move(client), *std::move(address)));
}

} // namespace reciperun::storage
