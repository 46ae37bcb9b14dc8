// The load of an engine in the header `endpoint-load-metrics` of ORCA (Open
// Request Cost Aggregation), by which gateways choose a server.

#ifndef RECIPERUN_SERVER_KSERVE_ENDPOINTLOAD_H
#define RECIPERUN_SERVER_KSERVE_ENDPOINTLOAD_H

#include <cstdint>
#include <string>
#include <string_view>

namespace reciperun::server {

struct EndpointLoad {
  double cacheUtilization = 0; // of the KV cache, from 0 to 1
  uint64_t maxTokens = 0;      // that the KV cache can hold
};

/// The header's value in the format `text` or `json`; empty for another.
std::string endpointLoadHeader(const EndpointLoad& load,
                               std::string_view format);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_ENDPOINTLOAD_H
