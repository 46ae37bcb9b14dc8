// An object that is written in parts: CreateMultipartUpload, UploadPart,
// CompleteMultipartUpload, AbortMultipartUpload.

#ifndef RECIPERUN_STORAGE_S3UPLOAD_H
#define RECIPERUN_STORAGE_S3UPLOAD_H

#include "runtime/storage/ObjectStore.h"
#include "runtime/storage/S3Client.h"

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace reciperun::storage {

/// The limits of S3 ("Amazon S3 multipart upload limits").
inline constexpr int64_t mostParts = 10000;
inline constexpr int64_t smallestPart = int64_t(5) << 20;

/// The size of all parts but the last one.
int64_t partBytesOf(const Settings& settings, const UploadOptions& options);

/// An object that fits into one part is written by one request, when the upload
/// ends; then the store also retries a precondition's conflict.
class S3Upload : public Upload {
public:
  S3Upload(std::shared_ptr<S3Client> client, Address address, std::string name,
           const UploadOptions& options);
  ~S3Upload() override;

  Status append(std::span<const std::byte> data) override;
  Status rewrite(int64_t at, std::span<const std::byte> data) override;
  int64_t partBytes() const override { return bytesOfPart; }
  Status writePart(int64_t number, std::span<const std::byte> data) override;
  Expected<Object> finish(const Precondition& precondition) override;

private:
  struct Part {
    std::string etag;
    std::optional<uint32_t> crc32c; // in lists of the store it may be missing
    int64_t bytes = 0;
  };
  using Buffer = std::shared_ptr<std::vector<std::byte>>;

  int64_t sizeOfPart(int64_t number) const;
  Expected<std::string> begin();
  Status sendPart(int64_t number, std::span<const std::byte> data);
  Status startPart();
  Status waitForParts(size_t most);
  Expected<S3Answer> complete(const Precondition& precondition);
  Expected<std::map<int64_t, Part>> listParts() const;
  Status askForParts();
  Expected<Object> check(const S3Answer& completed);
  std::string partList() const;
  uint32_t wholeCrc32c() const;
  int64_t wholeBytes() const;

  const std::shared_ptr<S3Client> client;
  const Address address;
  const std::string name;
  const int64_t rewritable;
  const int64_t bytesOfPart;

  Buffer current = std::make_shared<std::vector<std::byte>>();
  Buffer first; // held back where it may be rewritten
  int64_t nextPart = 0;

  std::mutex mutex; // of all below
  std::condition_variable changed;
  std::string id; // empty until the first part is sent
  bool takesWholeChecksum = false;
  std::map<int64_t, Part> parts; // by their numbers, from 0
  size_t inFlight = 0;
  Status failed;
  bool isFinished = false;
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_S3UPLOAD_H
