// See MetadataService.h.

#include "runtime/train/spot/MetadataService.h"

#include <string_view>
#include <utility>

namespace reciperun::train {
namespace {

/// More than any answer.
constexpr size_t mostBytes = size_t(1) << 20;

constexpr std::string_view scheme = "http://";

/// Whether an address is `http://HOST[:PORT]`.
bool isAddressOfHost(std::string_view address) {
  if (!address.starts_with(scheme))
    return false;
  const std::string_view place = address.substr(scheme.size());
  return !place.empty() && place.front() != ':' &&
         place.find_first_of("/?# @") == place.npos;
}

} // namespace

Expected<MetadataService> MetadataService::at(const std::string& address,
                                              int seconds) {
  if (!isAddressOfHost(address))
    return Status::error("`" + address +
                         "` is no address of a metadata "
                         "service, such as "
                         "`http://169.254.169.254`");
  MetadataService made;
  made.address = address;
  made.limit = seconds;
  made.http = std::make_shared<storage::HttpClient>();
  return made;
}

Expected<storage::HttpAnswer>
MetadataService::ask(const MetadataRequest& request) const {
  storage::HttpRequest sent;
  sent.method = request.method;
  sent.url = address + request.path;
  sent.headers = request.headers;
  sent.bodyLimit = mostBytes;
  sent.connectSeconds = sent.stallSeconds = sent.totalSeconds = limit;
  sent.avoidsProxy = true;
  storage::HttpAnswer answer = http->send(sent);
  if (!answer.isComplete())
    return Status::error("`" + sent.url +
                         "` does not answer: " + answer.failure);
  return answer;
}

Status MetadataService::refused(const MetadataRequest& request,
                                const storage::HttpAnswer& answer) const {
  return Status::error("`" + address + request.path + "` answers with status " +
                       std::to_string(answer.status));
}

Expected<std::string>
MetadataService::read(const MetadataRequest& request) const {
  Expected<storage::HttpAnswer> answer = ask(request);
  RECIPERUN_TRY(answer);
  constexpr int ok = 200;
  if (answer->status != ok)
    return refused(request, *answer);
  return std::move(answer->body);
}

} // namespace reciperun::train
