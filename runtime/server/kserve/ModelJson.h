// What the API tells about the server and its models, as JSON.

#ifndef RECIPERUN_SERVER_KSERVE_MODELJSON_H
#define RECIPERUN_SERVER_KSERVE_MODELJSON_H

#include "runtime/server/models/ModelServer.h"

#include <span>
#include <string>

namespace reciperun::server {

/// The server's name, its version and the extensions of the protocol.
std::string serverMetadataJson(const std::string& name,
                               const std::string& version);

std::string metadataJson(const ModelMetadata& model);

std::string statisticsJson(std::span<const ModelStatistics> models);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_MODELJSON_H
