// The access log: a line of JSON for each answered request.

#ifndef RECIPERUN_SERVER_ACCESS_ACCESSLOG_H
#define RECIPERUN_SERVER_ACCESS_ACCESSLOG_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace reciperun::server {

struct AccessRecord {
  std::string id;     // of the request
  std::string client; // its address
  std::string method, path;
  int status = 0; // 499: the client was gone before an answer
  std::optional<int> grpcStatus = {}; // of gRPC's calls, in place of `status`
  bool isComplete = true;             // the client was there until the end
  size_t bytesIn = 0, bytesOut = 0;   // of the bodies
  double milliseconds = 0;
  std::optional<double> firstByte = {}; // milliseconds until then
  std::string model = {};               // empty: none
  int64_t promptTokens = 0, answerTokens = 0;
  std::string key = {}; // the name of the API key; empty: none
  std::string trace = {}, parent = {};
};

/// The line of a record, with its end. Long paths are cut.
std::string lineOf(const AccessRecord& record,
                   std::chrono::system_clock::time_point now);

/// Belongs to the server's thread.
class AccessLog {
public:
  /// Without a path nothing is written; `-` is stdout. Fails when the file
  /// cannot be opened for appending.
  static Expected<AccessLog> open(std::string path);
  AccessLog() = default;
  AccessLog(AccessLog&& other) noexcept;
  AccessLog& operator=(AccessLog&& other) noexcept;
  ~AccessLog();

  /// Opens the file of the path again, after a rotation of logs.
  Status reopen();
  bool isOn() const { return descriptor >= 0; }
  bool isFile() const { return isOn() && path != "-"; }
  /// Writes the line of a record. A line that cannot be written is lost; the
  /// program's log reports the first such failure.
  void write(const AccessRecord& record);

private:
  std::string path;
  int descriptor = -1;
  bool hasFailed = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_ACCESSLOG_H
