// The trace that a request belongs to, as OpenTelemetry passes it on (W3C Trace
// Context, level 1).

#ifndef RECIPERUN_SERVER_ACCESS_TRACECONTEXT_H
#define RECIPERUN_SERVER_ACCESS_TRACECONTEXT_H

#include <optional>
#include <string>

namespace reciperun::server {

struct TraceContext {
  std::string trace;  // id, 32 hexadecimal digits
  std::string parent; // id of the caller's span, 16 hexadecimal digits
  std::string header; // `traceparent` as it came
  std::string state;  // `tracestate`; empty when there is none that is valid
};

/// Reads the values of the headers `traceparent` and `tracestate`; nullopt when
/// the first one is invalid (section 3.2.2), and there is no trace.
std::optional<TraceContext> traceOf(const std::string& parent,
                                    const std::string& state);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_TRACECONTEXT_H
