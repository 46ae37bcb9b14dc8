// The web pages that may call the server from a browser: Cross-Origin Resource
// Sharing, https://fetch.spec.whatwg.org/#http-cors-protocol.

#ifndef RECIPERUN_SERVER_ACCESS_ORIGINS_H
#define RECIPERUN_SERVER_ACCESS_ORIGINS_H

#include "runtime/base/Status.h"
#include "runtime/server/http/HttpReply.h"
#include "runtime/server/http/HttpServer.h"

#include <set>
#include <string>
#include <string_view>

namespace reciperun::server {

class Origins {
public:
  /// Adds the origins of an option: `*`, which is every origin, or some of the
  /// form `https://host:port`, with commas between them or as a JSON list.
  /// Fails for another form.
  Status add(std::string_view option);

  /// Adds the headers that allow the calling page to read the answer. If the
  /// request is a preflight request, by which a browser asks whether it may
  /// send another one, answers it and returns true.
  bool answer(const HttpRequest& request, HttpReply& reply) const;

private:
  bool isAllowed(const std::string& origin) const;

  bool allowsAll = false;
  std::set<std::string> allowed;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_ORIGINS_H
