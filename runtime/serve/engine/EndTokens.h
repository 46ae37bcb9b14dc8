// The tokens with which a model ends an answer, from generation_config.json.

#ifndef RECIPERUN_SERVE_ENGINE_ENDTOKENS_H
#define RECIPERUN_SERVE_ENGINE_ENDTOKENS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <set>

namespace reciperun::serve {

/// The ids of `eos_token_id`, which Hugging Face writes as one id or a list.
/// Empty when the file or the key is absent. Fails when the file cannot be read
/// or the key has another type.
Expected<std::set<int32_t>> readEndTokens(const std::filesystem::path& path);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_ENDTOKENS_H
