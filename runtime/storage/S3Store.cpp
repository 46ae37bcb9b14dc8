// Reading and writing of objects. S3Lists.cpp has the operations on many.

#include "runtime/storage/S3Store.h"

#include "runtime/base/Crc32c.h"
#include "runtime/storage/Digests.h"
#include "runtime/storage/S3Objects.h"
#include "runtime/storage/S3Upload.h"

#include <algorithm>

namespace reciperun::storage {
namespace {

/// The range of one request. Smaller ones cost more requests, larger ones
/// leave connections idle.
constexpr size_t rangeBytes = size_t(8) << 20;
/// Times that an object is read whose bytes do not match its checksum, or
/// written when another program writes it, too.
constexpr int mostTries = 3;

Status damaged(const std::string& object) {
  return Status::error("cannot read `" + object +
                       "`: its bytes do not match its checksum, " +
                       std::to_string(mostTries) + " times");
}

/// Whether the body of an answer is the object, as far as its checksum or its
/// ETag tells.
bool isIntact(const HttpAnswer& answer) {
  const auto bytes = std::as_bytes(std::span(answer.body));
  if (const auto crc = crc32cOf(answer))
    return crc32c(bytes) == *crc;
  const std::string etag = etagOf(answer);
  return !isMd5(etag, answer) || md5Hex(bytes) == etag;
}

} // namespace

/// A part of a range, which one request reads.
struct S3Store::Piece {
  ByteRange range;
  uint32_t crc32c = 0;
};

S3Store::S3Store(std::shared_ptr<S3Client> client, Address root)
    : client(std::move(client)), rootAddress(std::move(root)),
      rootText(rootAddress.text()) {}

Expected<std::optional<Object>> S3Store::find(std::string_view name) {
  return findObject(*client, rootAddress / name, std::string(name));
}

// ---- read

Status S3Store::readPiece(const Object& object, Piece& piece) {
  S3Request request;
  request.action = "read";
  request.address = rootAddress / object.name;
  request.offset = piece.range.offset;
  request.into = piece.range.out;
  request.etag = object.etag;
  const Expected<S3Answer> answer = client->demand(request);
  RECIPERUN_TRY(answer);
  if (answer->received < piece.range.out.size())
    return Status::error(
        "cannot read `" + request.address.text() + "`: it ends at byte " +
        std::to_string(piece.range.offset + int64_t(answer->received)) + ", " +
        std::to_string(piece.range.out.size() - answer->received) +
        " bytes before it should");
  if (object.crc32c)
    piece.crc32c = crc32c(piece.range.out);
  return Status::ok();
}

Status S3Store::readOnce(const Object& object,
                         std::span<const ByteRange> ranges) {
  std::vector<Piece> pieces;
  for (const ByteRange& range : ranges)
    for (size_t done = 0; done < range.out.size(); done += rangeBytes)
      pieces.push_back(
          {{range.offset + int64_t(done),
            range.out.subspan(done,
                              std::min(rangeBytes, range.out.size() - done))},
           0});
  RECIPERUN_TRY(inParallel(client->pool(), pieces.size(), [&](size_t i) {
    return readPiece(object, pieces[i]);
  }));
  const bool isWhole = ranges.size() == 1 && ranges[0].offset == 0 &&
                       int64_t(ranges[0].out.size()) == object.bytes;
  if (!isWhole || !object.crc32c)
    return Status::ok();
  uint32_t crc = 0;
  for (const Piece& piece : pieces)
    crc = joinCrc32c(crc, piece.crc32c, piece.range.out.size());
  if (crc == *object.crc32c)
    return Status::ok();
  return damaged(textOf(object.name));
}

Status S3Store::read(const Object& object, std::span<const ByteRange> ranges) {
  Status status;
  for (int number = 0; number < mostTries; ++number) {
    status = readOnce(object, ranges);
    if (status.message() != damaged(textOf(object.name)).message())
      break;
  }
  return status;
}

Expected<std::string> S3Store::readText(std::string_view name, int64_t limit,
                                        Object* found) {
  S3Request request;
  request.action = "read";
  request.address = rootAddress / name;
  request.bodyLimit = size_t(limit);
  if (client->settings().checksums)
    request.headers = {{"x-amz-checksum-mode", "ENABLED"}};
  for (int number = 0; number < mostTries; ++number) {
    Expected<S3Answer> answer = client->demand(request);
    RECIPERUN_TRY(answer);
    if (!isIntact(answer->http))
      continue;
    if (found)
      *found = describeObject(std::string(name), answer->http);
    return std::move(answer->http.body);
  }
  return damaged(request.address.text());
}

// ---- write

Expected<Object> S3Store::put(std::string_view name,
                              std::span<const std::byte> data,
                              const Precondition& precondition) {
  if (int64_t(data.size()) <= client->settings().partBytes)
    return putObject(*client, rootAddress / name, std::string(name), data,
                     precondition);
  for (int number = 1;; ++number) {
    Expected<Object> object = putParts(name, data, precondition);
    // Where another program writes at the same time, the parts are gone.
    const bool isConflict = !object &&
                            precondition.kind != Precondition::Kind::none &&
                            object.status().code() == StatusCode::unavailable;
    if (!isConflict || number == mostTries)
      return object;
  }
}

Expected<Object> S3Store::putParts(std::string_view name,
                                   std::span<const std::byte> data,
                                   const Precondition& precondition) {
  S3Upload upload(client, rootAddress / name, std::string(name),
                  {.expectedBytes = int64_t(data.size())});
  const size_t step = size_t(upload.partBytes());
  const size_t count = (data.size() + step - 1) / step;
  RECIPERUN_TRY(inParallel(client->pool(), count, [&](size_t i) {
    return upload.writePart(
        int64_t(i),
        data.subspan(i * step, std::min(step, data.size() - i * step)));
  }));
  return upload.finish(precondition);
}

int64_t S3Store::partBytes(int64_t objectBytes) const {
  return partBytesOf(client->settings(), {.expectedBytes = objectBytes});
}

Expected<std::unique_ptr<Upload>>
S3Store::upload(std::string_view name, const UploadOptions& options) {
  return std::unique_ptr<Upload>(std::make_unique<S3Upload>(
      client, rootAddress / name, std::string(name), options));
}

} // namespace reciperun::storage
