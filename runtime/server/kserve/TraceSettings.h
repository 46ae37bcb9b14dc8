// The settings of tracing, of the server and of single models.
//
// A field that a model does not set is the server's, and one that the server
// does not set has the value of its start. Triton refuses to turn tracing on
// where no file for traces is given at the start; so does this server, which
// records no traces yet.

#ifndef RECIPERUN_SERVER_KSERVE_TRACESETTINGS_H
#define RECIPERUN_SERVER_KSERVE_TRACESETTINGS_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::server {

/// What is recorded of a request.
struct TraceLevel {
  bool hasTimestamps = false, hasTensors = false;

  bool isOff() const { return !hasTimestamps && !hasTensors; }
};

struct TraceSetting {
  TraceLevel level;
  uint32_t rate = 1000;      // one of so many requests is traced
  int32_t count = -1;        // traces that remain; -1: no limit
  uint32_t logFrequency = 0; // traces in a file; 0: all in one
};

class TraceSettings {
public:
  /// Updates the settings of a model, or the server's where `model` is empty,
  /// by the body of a request, and returns the new ones.
  Status update(const std::string& model, std::string_view body,
                size_t mostBytes);

  TraceSetting of(const std::string& model) const;
  std::string json(const std::string& model) const;

private:
  /// Fields that are set.
  struct Changes {
    std::optional<TraceLevel> level;
    std::optional<uint32_t> rate;
    std::optional<int32_t> count;
    std::optional<uint32_t> logFrequency;

    bool isEmpty() const { return !level && !rate && !count && !logFrequency; }
    TraceSetting over(TraceSetting setting) const;
  };
  static Status read(std::string_view body, size_t mostBytes, Changes& changes);

  Changes server;
  std::map<std::string, Changes> models;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_TRACESETTINGS_H
