// The settings of tracing and of the log that clients read and change.
//
// The server records no traces, so that tracing cannot be turned on: Triton
// refuses it in the same words where no file for traces is given at the start.

#ifndef RECIPERUN_SERVER_GRPC_SETTINGSTORE_H
#define RECIPERUN_SERVER_GRPC_SETTINGSTORE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace reciperun::server {

/// Settings of tracing, of the server and of single models.
class TraceStore {
public:
  using Values = std::map<std::string, std::vector<std::string>>;

  /// Changes the settings of a model, or the server's where `model` is empty.
  /// A name without values is forgotten: a model's setting is then the
  /// server's, and the server's is that of the start. Others stay.
  Status change(const std::string& model, const Values& changes);
  Values of(const std::string& model) const;

private:
  Values server;
  std::map<std::string, Values> models;
};

/// Settings of the log.
class LogStore {
public:
  using Value = std::variant<std::monostate, bool, uint32_t, std::string>;
  using Values = std::map<std::string, Value>;

  /// Changes the settings that are named; all or none of them.
  Status change(const Values& changes);
  const Values& all() const { return values; }

private:
  Values values = {
      {"log_file", std::string()}, {"log_info", true},
      {"log_warning", true},       {"log_error", true},
      {"log_verbose_level", 0u},   {"log_format", std::string("default")}};
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_SETTINGSTORE_H
