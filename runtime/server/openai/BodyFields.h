// Access to the fields of a request's body, and the fields that completions and
// embeddings have in common.

#ifndef RECIPERUN_SERVER_OPENAI_BODYFIELDS_H
#define RECIPERUN_SERVER_OPENAI_BODYFIELDS_H

#include "runtime/base/Status.h"
#include "runtime/serve/prompts/PromptFile.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

/// A field of an object that is neither absent nor null; otherwise null.
inline const nlohmann::ordered_json*
findField(const nlohmann::ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

/// "`stream` must be ..."
Status wrongType(const char* name, const char* due);

/// Read an optional field; `target` keeps its value without it.
Status readFlag(const nlohmann::ordered_json& object, const char* name,
                bool& target);
Status readText(const nlohmann::ordered_json& object, const char* name,
                std::string& target);

/// A field, and the values of it that ask for nothing.
struct UnsupportedField {
  const char* name;
  std::vector<nlohmann::ordered_json> harmless = {};
};
/// Fails, naming the first one, when a field asks for something.
Status refuseUnsupported(const nlohmann::ordered_json& body,
                         const std::vector<UnsupportedField>& fields);

/// `model`, `cache_salt`, `truncate_prompt_tokens` and `priority`.
struct CommonFields {
  std::string model;     // empty: the only one
  std::string cacheSalt; // see serve::Request
  /// The last tokens of the prompt to keep; -1: as many as the plan takes.
  std::optional<int64_t> lastTokens;
  int priority = 0; // higher is sooner
};
Status readCommonFields(const nlohmann::ordered_json& body,
                        CommonFields& fields);

/// Reads the prompts of a field: a text, a list of token ids, or a list of
/// either.
Status readPrompts(const nlohmann::ordered_json& body, const char* name,
                   std::vector<serve::PromptContent>& prompts);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_BODYFIELDS_H
