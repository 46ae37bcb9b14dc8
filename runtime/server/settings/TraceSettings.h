// The settings of tracing, of the server and of single models.
//
// The server records no traces, so that tracing cannot be turned on: Triton
// refuses it in the same words where no file for traces is given at the start.

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

  /// Changes the settings of a model, or the server's where `model` is empty.
  /// A name without values is forgotten: a model's setting is then the
  /// server's, and the server's is that of the start. Other names stay. Fails,
  /// with Triton's texts, without a change.
  Status change(const std::string& model, const Values& changes);
  /// All settings; each but the level has one text.
  Values of(const std::string& model) const;

private:
  Values server;
  std::map<std::string, Values> models;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SETTINGS_TRACESETTINGS_H
