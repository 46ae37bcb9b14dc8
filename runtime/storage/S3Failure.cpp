// The messages of S3Client about requests that failed.

#include "runtime/storage/S3Client.h"

namespace reciperun::storage {
namespace {

/// `cannot read `s3://bucket/key``.
std::string cannot(const S3Request& request) {
  return "cannot " + request.action + " `" + request.place() + "`: ";
}

/// `503 SlowDown (Please reduce your request rate.)`.
std::string answerText(const S3Answer& answer) {
  std::string text = std::to_string(answer.status());
  if (!answer.code.empty())
    text += " " + answer.code;
  std::string reason = answer.reason;
  while (reason.ends_with('.'))
    reason.pop_back();
  return reason.empty() ? text : text + " (" + reason + ")";
}

/// The permission that an operation needs, by the names of AWS.
std::string permissionOf(const S3Request& request) {
  const auto has = [&](const char* name) {
    for (const auto& [key, value] : request.query)
      if (key == name)
        return true;
    return false;
  };
  if (request.method == "GET" && has("uploads"))
    return "s3:ListBucketMultipartUploads";
  if (request.method == "GET" && request.address.key.empty())
    return "s3:ListBucket";
  if (request.method == "DELETE" && has("uploadId"))
    return "s3:AbortMultipartUpload";
  if (request.method == "DELETE" || has("delete"))
    return "s3:DeleteObject";
  if (request.method == "PUT" || request.method == "POST")
    return "s3:PutObject";
  return "s3:GetObject";
}

std::string refusal(const S3Request& request, const S3Answer& answer,
                    const std::string& source) {
  if (answer.code == "InvalidAccessKeyId")
    return "the store does not know the access key of " + source +
           "; check the key and the endpoint";
  if (answer.code == "SignatureDoesNotMatch")
    return "the store computes another signature: the secret key of " + source +
           " does not belong to its access key, or the region is not the "
           "store's; check both";
  if (answer.code == "RequestTimeTooSkewed")
    return "the store refuses the time of the request; set the clock of this "
           "host";
  return "the store denies access; the keys of " + source +
         " need the permission " + permissionOf(request);
}

} // namespace

std::string S3Request::place() const {
  return (address.key.empty() ? Address{address.bucket, folder} : address)
      .text();
}

Status S3Client::failure(const S3Request& request,
                         const S3Answer& answer) const {
  const int status = answer.status();
  const std::string& bucket = request.address.bucket;
  const std::string source = credentials.sourceName();
  const std::string found = ": " + answerText(answer);
  if (answer.code == "NoSuchBucket" ||
      (status == 404 && request.address.key.empty()))
    return Status::error(cannot(request) + "there is no bucket `" + bucket +
                             "` at `" + endpointOf(bucket) +
                             "`; create it, or correct the name",
                         StatusCode::notFound);
  if (status == 404)
    return Status::error(cannot(request) +
                             (answer.code == "NoSuchUpload"
                                  ? "its upload has been discarded"
                                  : "there is no such object"),
                         StatusCode::notFound);
  if (status == 412)
    return Status::error(cannot(request) +
                             (request.changesStore()
                                  ? "the object exists or has been changed by "
                                    "another program"
                                  : "it has been replaced meanwhile"),
                         StatusCode::alreadyExists);
  if (status == 409)
    return Status::error(
        cannot(request) + "another program writes it at the same time" + found,
        StatusCode::unavailable);
  if (status == 403)
    return Status::error(cannot(request) + refusal(request, answer, source) +
                         found);
  if (answer.code == "ExpiredToken" || answer.code == "InvalidToken")
    return Status::error(cannot(request) + "the keys of " + source +
                         " have expired; get new ones" + found);
  if (status == 416)
    return Status::error(cannot(request) + "it ends before byte " +
                         std::to_string(request.offset));
  if (status == 301 || status == 307)
    return Status::error(cannot(request) +
                         "the bucket is in another region; set AWS_REGION" +
                         found);
  return Status::error(
      cannot(request) + "the store answers " + answerText(answer),
      status == 501 ? StatusCode::unsupported : StatusCode::internal);
}

Status S3Client::exhausted(const S3Request& request, const S3Answer& answer,
                           int attempts) const {
  const std::string times =
      attempts > 1 ? ", " + std::to_string(attempts) + " times" : "";
  const std::string endpoint = "`" + endpointOf(request.address.bucket) + "`";
  const std::string what =
      answer.http.isComplete()
          ? "the store " + endpoint + " answers " + answerText(answer)
          : "the store " + endpoint + " fails: " + answer.http.failure;
  return Status::error(cannot(request) + what + times,
                       answer.http.isComplete() || answer.http.isTransient
                           ? StatusCode::unavailable
                           : StatusCode::internal);
}

} // namespace reciperun::storage
