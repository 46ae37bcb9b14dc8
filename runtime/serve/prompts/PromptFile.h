// The prompts of a command line: texts, conversations and token ids, from
// arguments, files and standard input.

#ifndef RECIPERUN_SERVE_PROMPTS_PROMPTFILE_H
#define RECIPERUN_SERVE_PROMPTS_PROMPTFILE_H

#include "runtime/base/Status.h"
#include "runtime/serve/prompts/ChatInput.h"
#include "runtime/serve/sampling/SamplingArguments.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace reciperun::serve {

/// A prompt, or a file of prompts.
struct PromptSource {
  bool isFile = false;
  std::string value; // the text, or the path; `-` is standard input
};

/// A text, a conversation or token ids.
using PromptContent =
    std::variant<std::string, ChatInput, std::vector<int32_t>>;

struct Prompt {
  PromptContent content;
  std::string place; // for messages: "`a.txt`: line 3"; may be empty
  std::string id;    // the JSON text of the row's `id`; empty when it has none
  /// The row's `adapter`; empty for the model alone; nullopt when it has no
  /// such field.
  std::optional<std::string> adapter;
  SamplingArguments sampling;
  int64_t sample = 0; // of the prompt's answers, from 0
};

/// All prompts, in order. A text file has one per line. A file whose name ends
/// in `.jsonl` has a JSON string per line, or an object with one of `prompt` (a
/// text), `messages` (see readChatInput) and `input_ids` (a list of token ids).
/// The object may have an `id`, an `adapter` (a name, or null for the model
/// alone) and sampling options (see readSamplingFields), which override those
/// of `sampling`. Other fields are ignored unless they look like a misspelt
/// option. White-space lines are skipped. A prompt that asks for `n` answers is
/// returned n times, with consecutive seeds. Fails when a file cannot be read
/// or has no prompt, and with the first ten lines that have another format or
/// are not UTF-8.
Expected<std::vector<Prompt>>
readPrompts(const std::vector<PromptSource>& sources,
            const SamplingArguments& sampling = {});

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_PROMPTFILE_H
