// See AccessLog.h.

#include "runtime/server/access/AccessLog.h"

#include "runtime/base/Log.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace reciperun::server {
namespace {

using LogJson = nlohmann::ordered_json;

constexpr size_t longestPath = 1024;

/// RFC 3339 in UTC, with milliseconds.
std::string timeText(std::chrono::system_clock::time_point now) {
  using std::chrono::milliseconds;
  const int64_t all =
      std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = all / 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text, sizeof text, "%s.%03dZ", date, int(all % 1000));
  return text;
}

double inMicroseconds(double milliseconds) {
  return std::round(milliseconds * 1000) / 1000;
}

} // namespace

std::string lineOf(const AccessRecord& record,
                   std::chrono::system_clock::time_point now) {
  LogJson line = {{"time", timeText(now)},
                  {"id", record.id},
                  {"client", record.client},
                  {"method", record.method},
                  {"path", record.path.substr(0, longestPath)},
                  {record.grpcStatus ? "grpc_status" : "status",
                   record.grpcStatus.value_or(record.status)},
                  {"bytes_in", record.bytesIn},
                  {"bytes_out", record.bytesOut},
                  {"duration_ms", inMicroseconds(record.milliseconds)}};
  if (record.firstByte)
    line["first_byte_ms"] = inMicroseconds(*record.firstByte);
  if (!record.isComplete)
    line["aborted"] = true;
  if (!record.model.empty()) {
    line["model"] = record.model;
    line["tokens_in"] = record.promptTokens;
    line["tokens_out"] = record.answerTokens;
  }
  if (!record.key.empty())
    line["key"] = record.key;
  if (!record.trace.empty()) {
    line["trace_id"] = record.trace;
    line["parent_id"] = record.parent;
  }
  return line.dump(-1, ' ', /*ensure_ascii=*/true,
                   LogJson::error_handler_t::replace) +
         "\n";
}

Expected<AccessLog> AccessLog::open(std::string path) {
  AccessLog made;
  made.path = std::move(path);
  RECIPERUN_TRY(made.reopen());
  return made;
}

AccessLog::AccessLog(AccessLog&& other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)),
      hasFailed(other.hasFailed) {}

AccessLog& AccessLog::operator=(AccessLog&& other) noexcept {
  std::swap(path, other.path);
  std::swap(descriptor, other.descriptor);
  std::swap(hasFailed, other.hasFailed);
  return *this;
}

AccessLog::~AccessLog() {
  if (isFile())
    close(descriptor);
}

Status AccessLog::reopen() {
  if (path.empty())
    return Status::ok();
  if (path == "-") {
    descriptor = STDOUT_FILENO;
    return Status::ok();
  }
  constexpr mode_t mode = 0640; // addresses of clients are not for everyone
  const int opened =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, mode);
  if (opened < 0)
    return Status::error("cannot open `" + path + "`: " + std::strerror(errno));
  if (isFile())
    close(descriptor);
  descriptor = opened;
  hasFailed = false;
  return Status::ok();
}

void AccessLog::write(const AccessRecord& record) {
  if (!isOn())
    return;
  const std::string line = lineOf(record, std::chrono::system_clock::now());
  const ssize_t written = ::write(descriptor, line.data(), line.size());
  const bool fails = written != ssize_t(line.size());
  if (fails && !hasFailed)
    logLine(LogLevel::error,
            "cannot write the access log: " +
                std::string(written < 0 ? std::strerror(errno) : "it is full"));
  hasFailed = fails;
}

} // namespace reciperun::server
