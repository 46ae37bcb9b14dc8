// `append` fills a buffer. A full one goes to a thread of the client, which
// sends it as a part; the next one is filled meanwhile. The first full buffer
// begins the upload.

#include "runtime/storage/S3Upload.h"

#include "runtime/base/Crc32c.h"
#include "runtime/storage/S3Objects.h"
#include "runtime/storage/Xml.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>

namespace reciperun::storage {
namespace {

/// The buffers that wait for being sent, which bounds the memory.
constexpr size_t mostBuffers = 8;
/// Parts of an object of unknown size double after so many, so that 10,000
/// hold any size that a store takes.
constexpr int64_t partsOfOneSize = 2000;
constexpr const char* checksum = "ChecksumCRC32C"; // an element

int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

S3Request partRequest(const Address& address, const char* method,
                      const char* action) {
  S3Request request;
  request.action = action;
  request.method = method;
  request.address = address;
  return request;
}

} // namespace

int64_t partBytesOf(const Settings& settings, const UploadOptions& options) {
  constexpr int64_t unit = int64_t(1) << 20;
  return std::max({settings.partBytes, smallestPart,
                   roundUp(options.rewritableBytes, unit),
                   roundUp(options.expectedBytes / mostParts + 1, unit)});
}

S3Upload::S3Upload(std::shared_ptr<S3Client> client, Address address,
                   std::string name, const UploadOptions& options)
    : client(std::move(client)), address(std::move(address)),
      name(std::move(name)), rewritable(options.rewritableBytes),
      bytesOfPart(partBytesOf(this->client->settings(), options)) {}

S3Upload::~S3Upload() {
  (void)waitForParts(0);
  if (id.empty() || isFinished)
    return;
  S3Request request = partRequest(address, "DELETE", "discard an upload of");
  request.query = {{"uploadId", id}};
  // Best effort: ObjectStore::openUploads finds what stays.
  (void)client->send(request);
}

int64_t S3Upload::sizeOfPart(int64_t number) const {
  return bytesOfPart << number / partsOfOneSize;
}

// ---- parts

/// The upload's id; begins it at the first call.
Expected<std::string> S3Upload::begin() {
  const std::lock_guard lock(mutex);
  if (!id.empty())
    return id;
  S3Request request = partRequest(address, "POST", "write");
  request.query = {{"uploads", ""}};
  if (client->settings().checksums)
    request.headers = {{"x-amz-checksum-algorithm", "CRC32C"},
                       {checksumTypeHeader, wholeObject}};
  const Expected<S3Answer> answer = client->demand(request);
  RECIPERUN_TRY(answer);
  takesWholeChecksum = answer->http.header(checksumTypeHeader) == wholeObject;
  const Expected<XmlElement> root = parseXml(answer->http.body);
  if (root)
    id = root->textOf("UploadId");
  if (id.empty())
    return Status::error("cannot write `" + address.text() +
                         "`: the store's answer has no id of an upload");
  return id;
}

Status S3Upload::sendPart(int64_t number, std::span<const std::byte> data) {
  const Expected<std::string> upload = begin();
  RECIPERUN_TRY(upload);
  const uint32_t crc = crc32c(data);
  S3Request request = partRequest(address, "PUT", "write");
  request.query = {{"partNumber", std::to_string(number + 1)},
                   {"uploadId", *upload}};
  if (client->settings().checksums)
    request.headers = {{crc32cHeader, crc32cText(crc)}};
  request.body = data;
  const Expected<S3Answer> answer = client->demand(request);
  RECIPERUN_TRY(answer);
  const auto theirs = crc32cOf(answer->http);
  if (theirs && *theirs != crc)
    return Status::error("cannot write `" + address.text() + "`: part " +
                         std::to_string(number + 1) +
                         " has arrived with another checksum");
  const std::lock_guard lock(mutex);
  parts[number] = {etagOf(answer->http), crc, int64_t(data.size())};
  return Status::ok();
}

Status S3Upload::writePart(int64_t number, std::span<const std::byte> data) {
  assert(current->empty() && nextPart == 0 && "no bytes are appended, too");
  if (number >= mostParts)
    return Status::error("cannot write `" + address.text() +
                         "`: it has more than 10,000 parts");
  return sendPart(number, data);
}

/// Waits until at most so many parts are on their way.
Status S3Upload::waitForParts(size_t most) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return inFlight <= most; });
  return failed;
}

/// Gives the filled buffer to another thread, or holds it as the first one.
Status S3Upload::startPart() {
  const Buffer full =
      std::exchange(current, std::make_shared<std::vector<std::byte>>());
  const int64_t number = nextPart++;
  if (number == 0 && rewritable > 0) {
    first = full;
    return Status::ok();
  }
  if (number >= mostParts)
    return Status::error("cannot write `" + address.text() +
                         "`: it has more than 10,000 parts");
  RECIPERUN_TRY(waitForParts(mostBuffers - 1));
  {
    const std::lock_guard lock(mutex);
    ++inFlight;
  }
  client->pool().submit([this, number, full] {
    const Status sent = sendPart(number, *full);
    const std::lock_guard lock(mutex);
    if (failed.isOk())
      failed = sent;
    --inFlight;
    changed.notify_all();
  });
  return Status::ok();
}

Status S3Upload::append(std::span<const std::byte> data) {
  while (!data.empty()) {
    // A full buffer waits for the next bytes: the last one may be small.
    if (int64_t(current->size()) == sizeOfPart(nextPart))
      RECIPERUN_TRY(startPart());
    if (nextPart > 0)
      current->reserve(size_t(sizeOfPart(nextPart)));
    const size_t room = size_t(sizeOfPart(nextPart)) - current->size();
    const auto piece = data.first(std::min(room, data.size()));
    current->insert(current->end(), piece.begin(), piece.end());
    data = data.subspan(piece.size());
  }
  return Status::ok();
}

Status S3Upload::rewrite(int64_t at, std::span<const std::byte> data) {
  std::vector<std::byte>& held = first ? *first : *current;
  const int64_t end = at + int64_t(data.size());
  if (at < 0 || end > rewritable || end > int64_t(held.size()))
    return Status::error("cannot write `" + address.text() + "`: bytes " +
                         std::to_string(at) + " to " + std::to_string(end) +
                         " have been sent");
  std::ranges::copy(data, held.begin() + at);
  return Status::ok();
}

// ---- the end

std::string S3Upload::partList() const {
  std::string text = "<CompleteMultipartUpload "
                     "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const auto& [number, part] : parts) {
    text += "<Part><PartNumber>" + std::to_string(number + 1) +
            "</PartNumber><ETag>&quot;" + escapeXml(part.etag) +
            "&quot;</ETag>";
    if (client->settings().checksums)
      text +=
          "<ChecksumCRC32C>" + crc32cText(*part.crc32c) + "</ChecksumCRC32C>";
    text += "</Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

uint32_t S3Upload::wholeCrc32c() const {
  uint32_t crc = 0;
  for (const auto& [number, part] : parts)
    crc = joinCrc32c(crc, *part.crc32c, uint64_t(part.bytes));
  return crc;
}

int64_t S3Upload::wholeBytes() const {
  int64_t bytes = 0;
  for (const auto& [number, part] : parts)
    bytes += part.bytes;
  return bytes;
}

Expected<S3Answer> S3Upload::complete(const Precondition& precondition) {
  const std::string list = partList();
  S3Request request = partRequest(address, "POST", "write");
  request.query = {{"uploadId", id}};
  request.headers = {{"content-type", "application/xml"}};
  if (takesWholeChecksum) {
    request.headers.emplace_back(checksumTypeHeader, wholeObject);
    request.headers.emplace_back(crc32cHeader, crc32cText(wholeCrc32c()));
  }
  addPrecondition(precondition, request);
  request.body = std::as_bytes(std::span(list));
  request.mayFailLate = true;
  Expected<S3Answer> answer = client->send(request);
  RECIPERUN_TRY(answer);
  const bool mayBeOurs = answer->mayHaveHappened &&
                         (answer->status() == 404 || answer->status() == 412);
  if (!answer->isSuccess() && !mayBeOurs && answer->code != "InvalidPart")
    return client->failure(request, *answer);
  return answer;
}

/// The parts that the store has.
Expected<std::map<int64_t, S3Upload::Part>> S3Upload::listParts() const {
  std::map<int64_t, Part> listed;
  std::string marker = "0";
  for (bool isMore = true; isMore;) {
    S3Request request = partRequest(address, "GET", "list the parts of");
    request.query = {{"uploadId", id}, {"part-number-marker", marker}};
    const Expected<S3Answer> answer = client->demand(request);
    RECIPERUN_TRY(answer);
    const Expected<XmlElement> root = parseXml(answer->http.body);
    RECIPERUN_TRY(root.status().withContext("the list of the parts of `" +
                                            address.text() + "`"));
    for (const XmlElement& child : root->children) {
      if (child.name != "Part")
        continue;
      Part part{child.textOf("ETag"), parseCrc32c(child.textOf(checksum)),
                std::atoll(child.textOf("Size").c_str())};
      std::erase(part.etag, '"');
      listed[std::atoll(child.textOf("PartNumber").c_str()) - 1] = part;
    }
    const std::string next = root->textOf("NextPartNumberMarker");
    isMore = root->textOf("IsTruncated") == "true" && next != marker;
    marker = next;
  }
  return listed;
}

/// Replaces the parts' ETags by those that the store lists. Fails when a part
/// is not there as it was sent.
Status S3Upload::askForParts() {
  const auto listed = listParts();
  RECIPERUN_TRY(listed);
  for (auto& [number, part] : parts) {
    const auto found = listed->find(number);
    if (found == listed->end() || found->second.bytes != part.bytes ||
        found->second.crc32c.value_or(*part.crc32c) != *part.crc32c)
      return Status::error("cannot write `" + address.text() +
                           "`: the store does not have part " +
                           std::to_string(number + 1) + " as it was sent");
    part.etag = found->second.etag;
  }
  return Status::ok();
}

/// Looks at the object: it must be the one that was sent.
Expected<Object> S3Upload::check(const S3Answer& completed) {
  const auto found = findObject(*client, address, name);
  RECIPERUN_TRY(found);
  const bool isOurs = *found && (*found)->bytes == wholeBytes() &&
                      (*found)->crc32c.value_or(wholeCrc32c()) == wholeCrc32c();
  if (isOurs) {
    Object object = **found;
    object.crc32c = wholeCrc32c();
    return object;
  }
  if (completed.status() == 412)
    return Status::error("cannot write `" + address.text() +
                             "`: the object exists or has been changed by "
                             "another program",
                         StatusCode::alreadyExists);
  return Status::error(
      "cannot write `" + address.text() + "`: the store has " +
      (*found ? std::to_string((*found)->bytes) + " other bytes than the "
              : "none of the ") +
      std::to_string(wholeBytes()) + " that were sent");
}

Expected<Object> S3Upload::finish(const Precondition& precondition) {
  RECIPERUN_TRY(waitForParts(0));
  if (!first && nextPart == 0 && parts.empty())
    return putObject(*client, address, name, *current, precondition);
  if (!current->empty())
    RECIPERUN_TRY(startPart());
  if (first)
    RECIPERUN_TRY(sendPart(0, *first));
  RECIPERUN_TRY(waitForParts(0));
  Expected<S3Answer> answer = complete(precondition);
  if (answer && answer->code == "InvalidPart") {
    RECIPERUN_TRY(askForParts());
    answer = complete(precondition);
    if (answer && answer->code == "InvalidPart")
      return Status::error("cannot write `" + address.text() +
                           "`: the store does not accept its own parts "
                           "(InvalidPart)");
  }
  RECIPERUN_TRY(answer);
  isFinished = answer->isSuccess() || answer->status() == 404;
  Expected<Object> object = check(*answer);
  isFinished |= bool(object);
  return object;
}

} // namespace reciperun::storage
