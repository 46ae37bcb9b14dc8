// Each request has a connection and an event loop of its own, as there is one
// in seconds.

#include "runtime/train/spot/MetadataService.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include <cstring>
#include <memory>

namespace reciperun::train {
namespace {

/// More than any answer.
constexpr ssize_t mostBytes = 1 << 20;

template <auto destroy> struct Free {
  template <class T> void operator()(T* pointer) const { destroy(pointer); }
};
using Base = std::unique_ptr<event_base, Free<event_base_free>>;
using Connection =
    std::unique_ptr<evhttp_connection, Free<evhttp_connection_free>>;
using Uri = std::unique_ptr<evhttp_uri, Free<evhttp_uri_free>>;

/// libevent passes a null request, or one without a status, when there was no
/// answer.
void takeAnswer(evhttp_request* request, void* taken) {
  MetadataAnswer& answer = *static_cast<MetadataAnswer*>(taken);
  if (!request || evhttp_request_get_response_code(request) == 0)
    return;
  answer.status = evhttp_request_get_response_code(request);
  evbuffer* const body = evhttp_request_get_input_buffer(request);
  answer.body.resize(evbuffer_get_length(body));
  evbuffer_remove(body, answer.body.data(), answer.body.size());
}

} // namespace

Expected<MetadataService> MetadataService::at(const std::string& address,
                                              int seconds) {
  const Uri uri(evhttp_uri_parse(address.c_str()));
  const char* const scheme = uri ? evhttp_uri_get_scheme(uri.get()) : nullptr;
  const char* const host = uri ? evhttp_uri_get_host(uri.get()) : nullptr;
  if (!scheme || std::strcmp(scheme, "http") != 0 || !host || !*host)
    return Status::error("`" + address +
                         "` is no address of a metadata "
                         "service, such as "
                         "`http://169.254.169.254`");
  MetadataService made;
  made.host = host;
  if (const int port = evhttp_uri_get_port(uri.get()); port > 0)
    made.port = port;
  made.limit = seconds;
  return made;
}

Expected<MetadataAnswer>
MetadataService::ask(const MetadataRequest& request) const {
  MetadataAnswer answer;
  const Base base(event_base_new());
  const Connection connection(
      base ? evhttp_connection_base_new(base.get(), nullptr, host.c_str(),
                                        static_cast<uint16_t>(port))
           : nullptr);
  evhttp_request* const made =
      connection ? evhttp_request_new(takeAnswer, &answer) : nullptr;
  if (!made)
    return Status::error("no memory for a request");
  evhttp_connection_set_timeout(connection.get(), limit);
  evhttp_connection_set_max_body_size(connection.get(), mostBytes);
  evkeyvalq* const headers = evhttp_request_get_output_headers(made);
  evhttp_add_header(headers, "Connection", "close");
  for (const auto& [name, value] : request.headers)
    evhttp_add_header(headers, name.c_str(), value.c_str());
  // The connection owns the request from now on.
  const bool isMade =
      evhttp_make_request(connection.get(), made,
                          request.method == Method::get ? EVHTTP_REQ_GET
                                                        : EVHTTP_REQ_PUT,
                          request.path.c_str()) == 0;
  if (isMade)
    event_base_dispatch(base.get());
  if (answer.status == 0)
    return Status::error("`http://" + host + ":" + std::to_string(port) +
                         request.path + "` does not answer");
  return answer;
}

Status MetadataService::refused(const MetadataRequest& request,
                                const MetadataAnswer& answer) const {
  return Status::error("`http://" + host + ":" + std::to_string(port) +
                       request.path + "` answers with status " +
                       std::to_string(answer.status));
}

Expected<std::string>
MetadataService::read(const MetadataRequest& request) const {
  Expected<MetadataAnswer> answer = ask(request);
  RECIPERUN_TRY(answer);
  constexpr int ok = 200;
  if (answer->status != ok)
    return refused(request, *answer);
  return std::move(answer->body);
}

} // namespace reciperun::train
