// The settings of tracing, for the server and for single models.
//
// The server records no traces, so tracing cannot be turned on. It is refused
// in Triton's words for a server that was started without a trace file.

#ifndef RECIPERUN_SERVER_SETTINGS_TRACESETTINGS_H
#define RECIPERUN_SERVER_SETTINGS_TRACESETTINGS_H

#include "runtime/base/Status.h"

#include <map>
#include <string>
#include <vector>

namespace reciperun::server {

class TraceSettings {
public:
  /// Texts by the name of a setting: `trace_level`, `trace_rate`,
  /// `trace_count`, `log_frequency`, `trace_file` and `trace_mode`.
  using Values = std::map<std::string, std::vector<std::string>>;

  /// Changes the settings of a model, or the server's if `model` is empty. A
  /// name without values resets a setting: a model's to the server's, the
  /// server's to that of the start. Other settings stay unchanged. Fails, with
  /// Triton's texts, without any change.
  Status change(const std::string& model, const Values& changes);
  /// All settings. Each has one text, except the level.
  Values of(const std::string& model) const;

private:
  Values server;
  std::map<std::string, Values> models;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SETTINGS_TRACESETTINGS_H
