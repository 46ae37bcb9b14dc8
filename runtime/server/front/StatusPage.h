// The page that shows the server's load live in a browser, and the JSON that it
// asks for once a second.
//
// The page loads nothing from elsewhere: its Content-Security-Policy allows its
// own script and style alone, by a number that is new in each answer, and
// requests to the server.

#ifndef RECIPERUN_SERVER_FRONT_STATUSPAGE_H
#define RECIPERUN_SERVER_FRONT_STATUSPAGE_H

#include "runtime/server/http/HttpReply.h"
#include "runtime/server/metrics/ServerMetrics.h"

#include <chrono>
#include <string>
#include <string_view>

namespace reciperun::server {

/// StatusPage.html, with `@NONCE@` in place of the number.
extern const std::string_view statusPageHtml;

/// Belongs to the server's thread.
class StatusPage {
public:
  /// `metrics` must outlive the object.
  explicit StatusPage(ServerMetrics& metrics) : metrics(metrics) {}

  void sendPage(HttpReply& reply) const;
  void sendStatus(HttpReply& reply, const std::string& version,
                  const std::string& state);

  /// Engines with their counts since the start and the times of the last half
  /// minute in seconds; models of the repository; the machine.
  std::string statusJson(const std::string& version, const std::string& state);

private:
  ServerMetrics& metrics;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_FRONT_STATUSPAGE_H
