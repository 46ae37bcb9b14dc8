// One easy handle of libcurl carries out a request at a time and keeps its
// connection. Handles that are not in use wait in a list.

#include "runtime/storage/Http.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <curl/curl.h>
#include <mutex>
#include <vector>

namespace reciperun::storage {
namespace {

constexpr long receiveBytes = 512 << 10;
constexpr long sendBytes = 1 << 20;

/// A request on its way, which libcurl's callbacks read and fill.
struct Transfer {
  const HttpRequest& request;
  HttpAnswer& answer;
  size_t sent = 0;
  std::string fault = {}; // why a callback stopped the transfer
  int timesSent = 0;
  curl_off_t movedBytes = 0; // in both directions, until `lastMove`
  std::chrono::steady_clock::time_point lastMove =
      std::chrono::steady_clock::now();
  bool hasStalled = false;
};

int countSent(void* data, char*, char*, int, int) {
  ++static_cast<Transfer*>(data)->timesSent;
  return CURL_PREREQFUNC_OK;
}

/// Ends a transfer that has stalled. libcurl calls it about once a second.
int watchProgress(void* data, curl_off_t, curl_off_t received, curl_off_t,
                  curl_off_t sent) {
  Transfer& transfer = *static_cast<Transfer*>(data);
  const auto now = std::chrono::steady_clock::now();
  if (received + sent != transfer.movedBytes) {
    transfer.movedBytes = received + sent;
    transfer.lastMove = now;
  }
  const std::chrono::duration<double> idle = now - transfer.lastMove;
  transfer.hasStalled = idle.count() > transfer.request.stallSeconds;
  return transfer.hasStalled ? 1 : 0;
}

size_t giveBody(char* out, size_t size, size_t count, void* data) {
  Transfer& transfer = *static_cast<Transfer*>(data);
  const auto rest = transfer.request.body.subspan(transfer.sent);
  const size_t bytes = std::min(size * count, rest.size());
  if (bytes > 0)
    std::memcpy(out, rest.data(), bytes);
  transfer.sent += bytes;
  return bytes;
}

/// Begins again, which libcurl asks for when a kept connection was closed.
int seekBody(void* data, curl_off_t offset, int origin) {
  Transfer& transfer = *static_cast<Transfer*>(data);
  if (origin != SEEK_SET || offset < 0 ||
      size_t(offset) > transfer.request.body.size())
    return CURL_SEEKFUNC_CANTSEEK;
  transfer.sent = size_t(offset);
  return CURL_SEEKFUNC_OK;
}

size_t takeBody(char* in, size_t size, size_t count, void* data) {
  Transfer& transfer = *static_cast<Transfer*>(data);
  HttpAnswer& answer = transfer.answer;
  const size_t bytes = size * count;
  const auto into = transfer.request.into;
  if (into.data() && answer.status >= 200 && answer.status < 300) {
    if (bytes > into.size() - answer.received) {
      transfer.fault = "the answer has more bytes than were asked for";
      return 0;
    }
    std::memcpy(into.data() + answer.received, in, bytes);
    answer.received += bytes;
    return bytes;
  }
  if (answer.body.size() + bytes > transfer.request.bodyLimit) {
    transfer.fault = "the answer has more than " +
                     std::to_string(transfer.request.bodyLimit) + " bytes";
    return 0;
  }
  answer.body.append(in, bytes);
  return bytes;
}

size_t takeHeader(char* in, size_t size, size_t count, void* data) {
  HttpAnswer& answer = static_cast<Transfer*>(data)->answer;
  std::string_view line(in, size * count);
  while (line.ends_with('\n') || line.ends_with('\r'))
    line.remove_suffix(1);
  if (line.starts_with("HTTP/")) { // also those of interim answers
    answer.headers.clear();
    const size_t space = line.find(' ');
    answer.status = space == line.npos ? 0 : std::atoi(line.data() + space + 1);
    return size * count;
  }
  const size_t colon = line.find(':');
  if (colon == line.npos)
    return size * count;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  line.remove_prefix(
      std::min(line.find_first_not_of(" \t", colon + 1), line.size()));
  answer.headers[name] = line;
  return size * count;
}

bool isTransientFailure(CURLcode code) {
  switch (code) {
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_CONNECT:
  case CURLE_OPERATION_TIMEDOUT:
  case CURLE_PARTIAL_FILE:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_WEIRD_SERVER_REPLY:
    return true;
  default:
    return false;
  }
}

/// The message of libcurl in the manner of ours: lower case, no period.
std::string reasonOf(CURLcode code, const char* details) {
  std::string text = *details ? details : curl_easy_strerror(code);
  while (text.ends_with('.') || text.ends_with('\n'))
    text.pop_back();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

void setMethod(CURL* handle, Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  if (request.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    return;
  }
  if (request.method == "PUT" || request.method == "POST") {
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                     curl_off_t(request.body.size()));
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, giveBody);
    curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seekBody);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, sendBytes);
  }
  if (request.method != "GET")
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void setLimits(CURL* handle, Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   long(request.connectSeconds * 1000));
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, watchProgress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, countSent);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, &transfer);
  if (request.totalSeconds > 0)
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                     long(request.totalSeconds * 1000));
}

void setTransport(CURL* handle, const HttpRequest& request) {
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, receiveBytes);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "recipec");
  if (!request.caBundle.empty())
    curl_easy_setopt(handle, CURLOPT_CAINFO, request.caBundle.c_str());
  if (request.avoidsProxy)
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
}

/// An empty value needs a semicolon in place of the colon. Without `Expect:`
/// libcurl would wait for a permission to send large bodies.
curl_slist* headerList(const HttpRequest& request) {
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : request.headers)
    list = curl_slist_append(
        list, (value.empty() ? name + ";" : name + ": " + value).c_str());
  return list;
}

HttpAnswer performOn(CURL* handle, const HttpRequest& request) {
  HttpAnswer answer;
  Transfer transfer{request, answer};
  char details[CURL_ERROR_SIZE] = "";
  setTransport(handle, request);
  setMethod(handle, transfer);
  setLimits(handle, transfer);
  curl_slist* headers = headerList(request);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, details);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, takeBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, takeHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  const CURLcode code = curl_easy_perform(handle);
  curl_easy_reset(handle); // keeps the connection
  curl_slist_free_all(headers);
  answer.isRepeated = transfer.timesSent > 1;
  if (code == CURLE_OK)
    return answer;
  if (transfer.hasStalled) {
    answer.failure =
        formatted("no byte has moved for %g s", request.stallSeconds);
    answer.isTransient = true;
    return answer;
  }
  const bool isOurs = !transfer.fault.empty();
  answer.failure = isOurs ? transfer.fault : reasonOf(code, details);
  answer.isTransient = !isOurs && isTransientFailure(code);
  return answer;
}

} // namespace

struct HttpClient::Idle {
  std::mutex mutex;
  std::vector<CURL*> handles;
};

HttpClient::HttpClient() : idle(std::make_unique<Idle>()) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)ready; // without it, making a handle fails
}

HttpClient::~HttpClient() {
  for (CURL* handle : idle->handles)
    curl_easy_cleanup(handle);
}

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpAnswer HttpClient::send(const HttpRequest& request) {
  CURL* handle = nullptr;
  {
    const std::lock_guard lock(idle->mutex);
    if (!idle->handles.empty()) {
      handle = idle->handles.back();
      idle->handles.pop_back();
    }
  }
  if (!handle)
    handle = curl_easy_init();
  if (!handle) {
    HttpAnswer answer;
    answer.failure = "libcurl cannot be used";
    return answer;
  }
  HttpAnswer answer = performOn(handle, request);
  const std::lock_guard lock(idle->mutex);
  idle->handles.push_back(handle);
  return answer;
}

} // namespace reciperun::storage
