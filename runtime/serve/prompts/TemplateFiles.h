// The chat templates and named tokens of a Hugging Face directory.

#ifndef RECIPERUN_SERVE_PROMPTS_TEMPLATEFILES_H
#define RECIPERUN_SERVE_PROMPTS_TEMPLATEFILES_H

#include "runtime/base/Status.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {

struct NamedTemplate {
  std::string name; // `default`, `tool_use`, ...
  std::string text;
  std::string place; // for messages: the file, in backticks
};

struct TemplateFiles {
  std::vector<NamedTemplate> templates; // may be empty
  /// The special tokens that have a name (`bos_token`, `eos_token`,
  /// `unk_token`, `pad_token`, ...) and their texts.
  std::vector<std::pair<std::string, std::string>> tokens;

  /// Null when there is none of this name.
  const NamedTemplate* find(const std::string& name) const;
};

/// Reads chat_template.jinja, additional_chat_templates/NAME.jinja and
/// `chat_template` of tokenizer_config.json, which is a text or a list of
/// objects with `name` and `template`. Files take precedence over
/// tokenizer_config.json, as in transformers. Tokens come from
/// tokenizer_config.json or, if it lacks them, from special_tokens_map.json.
/// Absent files are no failure.
Expected<TemplateFiles>
readTemplateFiles(const std::filesystem::path& directory);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_TEMPLATEFILES_H
