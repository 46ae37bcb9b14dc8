// An attempt signs and sends the request. After an answer:
//   1. Success: done. A body that broke off is asked for from where it ended.
//   2. A cause that can be removed (clock, region, expired keys): remove it and
//      send again at once, once a cause.
//   3. A failure that may pass (connection, 500, 503, ...): wait, send again.
//   4. Any other refusal is the caller's.

#include "runtime/storage/S3Client.h"

#include "runtime/storage/Digests.h"
#include "runtime/storage/Times.h"
#include "runtime/storage/Xml.h"

#include <algorithm>
#include <cstdlib>

namespace reciperun::storage {
namespace {

/// Larger bodies that TLS protects are not signed.
constexpr size_t signedBytes = size_t(1) << 20;
constexpr const char* unsignedPayload = "UNSIGNED-PAYLOAD";
/// S3 refuses requests whose time is off by 15 minutes.
constexpr std::time_t skewSeconds = 300;

constexpr std::string_view conflict = "ConditionalRequestConflict";

bool isTransientCode(std::string_view code) {
  constexpr std::string_view codes[] = {conflict,
                                        "InternalError",
                                        "SlowDown",
                                        "RequestTimeout",
                                        "ServiceUnavailable",
                                        "Throttling",
                                        "RequestThrottled",
                                        "ThrottlingException",
                                        "TooManyRequests",
                                        "OperationAborted",
                                        "IncompleteBody",
                                        "BadDigest",
                                        "XAmzContentSHA256Mismatch"};
  return std::ranges::find(codes, code) != std::end(codes);
}

/// Whether the same request may succeed later.
bool mayPass(const S3Request& request, const S3Answer& answer) {
  if (!answer.http.isComplete())
    return answer.http.isTransient;
  // A conflict at the end of an upload in parts discards the parts.
  if (request.mayFailLate && answer.code == conflict)
    return false;
  const int status = answer.status();
  return isTransientCode(answer.code) || status == 429 || status == 500 ||
         status == 502 || status == 503 || status == 504;
}

/// Reads the code and the reason of an error.
void readError(S3Answer& answer) {
  const Expected<XmlElement> root = parseXml(answer.http.body);
  if (!root || root->name != "Error")
    return;
  answer.code = root->textOf("Code");
  answer.reason = root->textOf("Message");
}

void replaceAll(std::string& text, const std::string& part) {
  constexpr std::string_view stars = "***";
  size_t at = part.empty() ? text.npos : text.find(part);
  for (; at != text.npos; at = text.find(part, at + stars.size()))
    text.replace(at, part.size(), stars);
}

/// Removes credentials that a store repeats in its explanation.
void redact(std::string& text, const Credentials& credentials) {
  replaceAll(text, credentials.secretKey);
  replaceAll(text, credentials.sessionToken);
  replaceAll(text, credentials.accessKey);
}

std::string rangeText(int64_t offset, size_t bytes) {
  return "bytes=" + std::to_string(offset) + "-" +
         std::to_string(offset + int64_t(bytes) - 1);
}

/// `"abc"` without its quotes.
std::string unquoted(std::string text) {
  std::erase(text, '"');
  return text;
}

std::string hostOf(const std::string& url) {
  const size_t begin = url.find("://") + 3;
  return url.substr(begin, url.find('/', begin) - begin);
}

bool isSuccessStatus(int status) {
  return status >= 200 && status < 300;
}

/// Checks that an answer has the bytes that were asked for, and drops them
/// otherwise.
void checkRange(const S3Request& request, int64_t offset, HttpAnswer& answer) {
  if (request.offset < 0 || !isSuccessStatus(answer.status))
    return;
  const std::string begin = "bytes " + std::to_string(offset) + "-";
  const bool isRange = answer.status == 206
                           ? answer.header("content-range").starts_with(begin)
                           : offset == 0;
  const bool isSame =
      request.etag.empty() || unquoted(answer.header("etag")) == request.etag;
  if (isRange && isSame)
    return;
  answer.failure = isRange ? "it sends an object of another ETag"
                           : "it does not send the range from byte " +
                                 std::to_string(offset);
  answer.isTransient = true;
  answer.received = 0;
}

/// Finds the error in an answer 200.
void checkLateFailure(S3Answer& answer) {
  if (const Expected<XmlElement> root = parseXml(answer.http.body); root)
    return readError(answer);
  answer.code = "InternalError";
  answer.reason = "the answer is not complete";
}

} // namespace

/// What is known between the attempts of a request.
struct S3Client::Attempts {
  std::string payloadHash;
  Credentials used;
  size_t received = 0;
  bool mayHaveHappened = false;
  bool hasSetClock = false, hasSetRegion = false, hasDroppedKeys = false;
};

S3Client::S3Client(Settings settings, CredentialSource source,
                   std::shared_ptr<HttpClient> http)
    : set(std::move(settings)), http(std::move(http)),
      credentials(std::move(source)), threads(set.connections) {}

Expected<std::shared_ptr<S3Client>> S3Client::shared() {
  static std::mutex mutex;
  static std::shared_ptr<S3Client> client;
  const std::lock_guard lock(mutex);
  if (client)
    return client;
  const Expected<Profiles> profiles = Profiles::read(processEnvironment);
  RECIPERUN_TRY(profiles);
  Expected<Settings> settings = readSettings(processEnvironment, *profiles);
  RECIPERUN_TRY(settings);
  const auto http = std::make_shared<HttpClient>();
  Expected<CredentialSource> source =
      findCredentials(processEnvironment, *profiles, *settings, *http);
  RECIPERUN_TRY(source);
  client = std::make_shared<S3Client>(*std::move(settings), *std::move(source),
                                      http);
  return client;
}

// ---- where to send

std::string S3Client::regionOf(const std::string& bucket) const {
  const std::lock_guard lock(mutex);
  const auto found = regions.find(bucket);
  return found == regions.end() ? set.region : found->second;
}

S3Client::Target S3Client::targetOf(const Address& address) const {
  std::string endpoint = set.endpoint;
  const std::string region = regionOf(address.bucket);
  if (endpoint.empty())
    endpoint = "https://s3." + region + ".amazonaws.com" +
               (region.starts_with("cn-") ? ".cn" : "");
  const size_t host = endpoint.find("://") + 3;
  const size_t path = std::min(endpoint.find('/', host), endpoint.size());
  Target target;
  target.path = encodePath(endpoint.substr(path));
  endpoint.resize(path);
  // A dot in the bucket's name would be one more level than certificates have.
  const bool isInPath =
      set.pathStyle || address.bucket.find('.') != std::string::npos;
  if (isInPath)
    target.path += "/" + address.bucket;
  else
    endpoint.insert(host, address.bucket + ".");
  target.path += "/" + encodePath(address.key);
  target.host = hostOf(endpoint);
  target.url = endpoint + target.path;
  return target;
}

std::string S3Client::endpointOf(const std::string& bucket) const {
  const std::string url = targetOf({bucket, {}}).url;
  return url.substr(0, url.find('/', url.find("://") + 3));
}

// ---- one attempt

/// The request of one attempt with its signature.
HttpRequest S3Client::sign(const S3Request& request, Attempts& attempts) const {
  const Target target = targetOf(request.address);
  if (attempts.payloadHash.empty())
    attempts.payloadHash =
        target.url.starts_with("https:") && request.body.size() > signedBytes
            ? unsignedPayload
            : sha256Hex(request.body);
  const Credentials& keys = attempts.used;
  const std::time_t time = std::time(nullptr) + clockOffset;
  RequestHead head{request.method, target.host, target.path, request.query,
                   request.headers};
  head.headers.emplace_back("x-amz-date", amzDate(time));
  head.headers.emplace_back("x-amz-content-sha256", attempts.payloadHash);
  if (!keys.sessionToken.empty())
    head.headers.emplace_back("x-amz-security-token", keys.sessionToken);
  if (request.offset >= 0)
    head.headers.emplace_back(
        "range", rangeText(request.offset + int64_t(attempts.received),
                           request.into.size() - attempts.received));
  if (request.offset >= 0 && !request.etag.empty())
    head.headers.emplace_back("if-match", "\"" + request.etag + "\"");
  const std::string region = regionOf(request.address.bucket);
  const std::string signature =
      authorization(head, attempts.payloadHash,
                    {keys.accessKey, keys.secretKey, region, "s3"}, time);

  HttpRequest raw;
  raw.method = request.method;
  raw.url = target.url +
            (request.query.empty() ? "" : "?" + encodeQuery(request.query));
  raw.headers = std::move(head.headers);
  raw.headers.emplace_back("host", target.host);
  raw.headers.emplace_back("authorization", signature);
  raw.body = request.body;
  if (request.offset >= 0)
    raw.into = request.into.subspan(attempts.received);
  raw.bodyLimit = request.bodyLimit;
  raw.caBundle = set.caBundle;
  raw.connectSeconds = set.connectSeconds;
  raw.stallSeconds = set.stallSeconds;
  return raw;
}

Expected<S3Answer> S3Client::sendOnce(const S3Request& request,
                                      Attempts& attempts) {
  Expected<Credentials> keys = credentials.get(std::time(nullptr));
  RECIPERUN_TRY(keys);
  attempts.used = *std::move(keys);
  S3Answer answer;
  answer.http = http->send(sign(request, attempts));
  checkRange(request, request.offset + int64_t(attempts.received), answer.http);
  if (answer.http.isComplete() && !answer.http.isSuccess())
    readError(answer);
  else if (request.mayFailLate && answer.http.isSuccess())
    checkLateFailure(answer);
  redact(answer.reason, attempts.used);
  attempts.mayHaveHappened |= answer.http.isRepeated && request.changesStore();
  attempts.received += answer.http.received;
  answer.received = attempts.received;
  // A connection that breaks behind the last byte has done its work.
  if (answer.received > 0 && answer.received == request.into.size())
    answer.http.failure.clear();
  return answer;
}

/// Removes the cause of a refusal if that is possible; each at most once.
bool S3Client::mayRepair(const S3Request& request, const S3Answer& answer,
                         Attempts& attempts) {
  if (!answer.http.isComplete() || answer.isSuccess())
    return false;
  const bool isBare = request.method == "HEAD"; // its answers name no code
  const int status = answer.status();
  const auto once = [](bool& done) { return !std::exchange(done, true); };

  const auto theirs = parseHttpDate(answer.http.header("date"));
  const std::time_t offset = theirs ? *theirs - std::time(nullptr) : 0;
  const bool isSkewed =
      answer.code == "RequestTimeTooSkewed" ||
      (isBare && status == 403 && std::abs(offset - clockOffset) > skewSeconds);
  if (isSkewed && theirs && once(attempts.hasSetClock)) {
    clockOffset = offset;
    return true;
  }
  const std::string region = answer.http.header("x-amz-bucket-region");
  const bool isElsewhere = status == 301 || status == 307 || status == 400;
  if (isElsewhere && !region.empty() &&
      region != regionOf(request.address.bucket) &&
      once(attempts.hasSetRegion)) {
    const std::lock_guard lock(mutex);
    regions[request.address.bucket] = region;
    return true;
  }
  const bool isExpired =
      answer.code == "ExpiredToken" || answer.code == "TokenRefreshRequired" ||
      (isBare && status == 400 && !attempts.used.sessionToken.empty());
  if (isExpired && once(attempts.hasDroppedKeys)) {
    credentials.drop(attempts.used.accessKey);
    return true;
  }
  return false;
}

Expected<S3Answer> S3Client::send(const S3Request& request) {
  Attempts attempts;
  for (int number = 1;;) {
    const size_t before = attempts.received;
    Expected<S3Answer> answer = sendOnce(request, attempts);
    RECIPERUN_TRY(answer);
    if (attempts.received > before)
      number = 1; // the rest has all attempts
    answer->mayHaveHappened = attempts.mayHaveHappened;
    if (mayRepair(request, *answer, attempts))
      continue;
    const bool isAgain = mayPass(request, *answer);
    if (answer->http.isComplete() && !isAgain)
      return answer;
    if (!isAgain || number >= set.attempts)
      return exhausted(request, *answer, number);
    attempts.mayHaveHappened |= request.changesStore();
    backOff(number++, set.backoffSeconds);
  }
}

Expected<S3Answer> S3Client::demand(const S3Request& request) {
  Expected<S3Answer> answer = send(request);
  RECIPERUN_TRY(answer);
  if (!answer->isSuccess())
    return failure(request, *answer);
  return answer;
}

} // namespace reciperun::storage
