// Bodies of the model repository extension, and the answer of its index.

#ifndef RECIPERUN_SERVER_KSERVE_REPOSITORYJSON_H
#define RECIPERUN_SERVER_KSERVE_REPOSITORYJSON_H

#include "runtime/server/models/ModelServer.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace reciperun::server {

// All bodies may be empty.

/// `ready` of a request for the index: list only models that are ready.
Expected<bool> readIndexBody(std::string_view body, size_t mostBytes);

/// The parameters `config` and `file:<path>` of a load. Contents of files are
/// in base64. Files need a `config`.
Expected<LoadOverrides> readLoadBody(std::string_view body, size_t mostBytes);

/// The parameter `unload_dependents` of an unload.
Expected<bool> readUnloadBody(std::string_view body, size_t mostBytes);

std::string indexJson(std::span<const IndexEntry> entries);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_REPOSITORYJSON_H
