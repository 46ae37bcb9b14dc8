// See EndpointLoad.h.

#include "runtime/server/kserve/EndpointLoad.h"

#include "runtime/server/kserve/AnswerJson.h"

namespace reciperun::server {
namespace {

constexpr const char* utilizationName = "kv_cache_utilization";
constexpr const char* capacityName = "max_token_capacity";

std::string endpointLoadJson(const EndpointLoad& load) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeKey(writer, "named_metrics");
  writer.StartObject();
  writeKey(writer, utilizationName);
  writer.Double(load.cacheUtilization);
  writeKey(writer, capacityName);
  writer.Uint64(load.maxTokens);
  writer.EndObject();
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace

std::string endpointLoadHeader(const EndpointLoad& load,
                               std::string_view format) {
  if (format == "json")
    return "JSON " + endpointLoadJson(load);
  if (format != "text")
    return "";
  return "TEXT named_metrics." + std::string(utilizationName) + "=" +
         std::to_string(load.cacheUtilization) + ", named_metrics." +
         capacityName + "=" + std::to_string(load.maxTokens);
}

} // namespace reciperun::server
