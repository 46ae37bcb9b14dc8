// Rules of HTTP/1.1 that evhttp does not enforce.

#ifndef RECIPERUN_SERVER_HTTP_REQUESTRULES_H
#define RECIPERUN_SERVER_HTTP_REQUESTRULES_H

#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {

/// The headers of a request, in their order.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// Why a request has to be refused, and its connection closed, because another
/// program may see another end of it (RFC 9112 section 11.2, request smuggling)
/// or another host (section 3.2); empty when it is fine. `minor` is the minor
/// number of its version.
std::string faultOf(const HttpHeaders& headers, int minor);

/// Whether evhttp leaves the body of a request in the connection.
bool hasUnreadBody(const std::string& method, const HttpHeaders& headers);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_REQUESTRULES_H
