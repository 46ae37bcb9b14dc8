// See S3Objects.h.

#include "runtime/storage/S3Objects.h"

#include "runtime/base/Crc32c.h"
#include "runtime/storage/Digests.h"
#include "runtime/storage/Times.h"

#include <algorithm>
#include <charconv>

namespace reciperun::storage {
namespace {

int64_t numberIn(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

S3Request headRequest(const S3Client& client, const Address& address) {
  S3Request request;
  request.action = "look at";
  request.method = "HEAD";
  request.address = address;
  if (client.settings().checksums)
    request.headers = {{"x-amz-checksum-mode", "ENABLED"}};
  return request;
}

/// Whether an object has these bytes, by its size and its checksum or ETag.
bool hasBytes(const Object& object, std::span<const std::byte> data,
              uint32_t crc) {
  if (object.bytes != int64_t(data.size()))
    return false;
  return object.crc32c ? *object.crc32c == crc : object.etag == md5Hex(data);
}

/// Checks the ETag or the checksum of the answer to a PUT. The store itself
/// compares the bytes with the hash or the checksum of the request.
bool isAnswerTo(const HttpAnswer& answer, std::span<const std::byte> data,
                uint32_t crc) {
  if (const auto theirs = crc32cOf(answer); theirs && *theirs != crc)
    return false;
  const std::string etag = etagOf(answer);
  return !isMd5(etag, answer) || etag == md5Hex(data);
}

} // namespace

void addPrecondition(const Precondition& precondition, S3Request& request) {
  if (precondition.kind == Precondition::Kind::absent)
    request.headers.emplace_back("if-none-match", "*");
  if (precondition.kind == Precondition::Kind::matches)
    request.headers.emplace_back("if-match", "\"" + precondition.etag + "\"");
}

bool isMd5(const std::string& etag, const HttpAnswer& answer) {
  const std::string encryption = answer.header("x-amz-server-side-encryption");
  const bool isPlain = encryption.empty() || encryption == "AES256";
  const bool isOwnKey =
      !answer.header("x-amz-server-side-encryption-customer-algorithm").empty();
  return isPlain && !isOwnKey && etag.size() == 32 &&
         etag.find_first_not_of("0123456789abcdef") == etag.npos;
}

std::string etagOf(const HttpAnswer& answer) {
  std::string text = answer.header("etag");
  std::erase(text, '"');
  return text;
}

std::optional<uint32_t> crc32cOf(const HttpAnswer& answer) {
  const std::string type = answer.header(checksumTypeHeader);
  if (!type.empty() && type != wholeObject)
    return std::nullopt;
  return parseCrc32c(answer.header(crc32cHeader));
}

Object describeObject(std::string name, const HttpAnswer& answer) {
  return {std::move(name), numberIn(answer.header("content-length")),
          etagOf(answer),
          parseHttpDate(answer.header("last-modified")).value_or(0),
          crc32cOf(answer)};
}

Expected<std::optional<Object>>
findObject(S3Client& client, const Address& address, std::string name) {
  const S3Request request = headRequest(client, address);
  const Expected<S3Answer> answer = client.send(request);
  RECIPERUN_TRY(answer);
  if (answer->status() == 404)
    return std::optional<Object>();
  if (!answer->isSuccess())
    return client.failure(request, *answer);
  return std::optional(describeObject(std::move(name), answer->http));
}

Expected<Object> putObject(S3Client& client, const Address& address,
                           std::string name, std::span<const std::byte> data,
                           const Precondition& precondition) {
  const uint32_t crc = crc32c(data);
  S3Request request;
  request.action = "write";
  request.method = "PUT";
  request.address = address;
  request.body = data;
  if (client.settings().checksums)
    request.headers = {{crc32cHeader, crc32cText(crc)}};
  addPrecondition(precondition, request);
  const Expected<S3Answer> answer = client.send(request);
  RECIPERUN_TRY(answer);
  // After a broken connection, an earlier attempt may be what the precondition
  // finds. An answer with another ETag is checked like one that is missing.
  const bool isUnclear =
      answer->isSuccess() ? !isAnswerTo(answer->http, data, crc)
                          : answer->status() == 412 && answer->mayHaveHappened;
  if (!answer->isSuccess() && !isUnclear)
    return client.failure(request, *answer);
  if (!isUnclear)
    return Object{std::move(name), int64_t(data.size()), etagOf(answer->http),
                  std::time(nullptr), crc};
  const auto found = findObject(client, address, std::move(name));
  RECIPERUN_TRY(found);
  if (*found && hasBytes(**found, data, crc))
    return **found;
  if (!answer->isSuccess())
    return client.failure(request, *answer);
  return Status::error("cannot write `" + address.text() +
                       "`: the store has other bytes than were sent to it "
                       "(ETag `" +
                       etagOf(answer->http) + "`)");
}

} // namespace reciperun::storage
