// The bodies of /v1/embeddings.

#ifndef RECIPERUN_SERVER_OPENAI_EMBEDDINGREQUEST_H
#define RECIPERUN_SERVER_OPENAI_EMBEDDINGREQUEST_H

#include "runtime/base/Status.h"
#include "runtime/serve/prompts/PromptFile.h"
#include "runtime/server/openai/BodyFields.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reciperun::server {

struct EmbeddingRequest {
  CommonFields common;
  std::vector<serve::PromptContent> inputs;
  bool isBase64 = false;             // otherwise lists of numbers
  std::optional<int64_t> dimensions; // of an embedding
};

/// Reads a body. Fails, naming the field, when one is wrong.
Expected<EmbeddingRequest> readEmbeddingRequest(std::string_view body);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_EMBEDDINGREQUEST_H
