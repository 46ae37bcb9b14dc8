// The prompts of `reciperun generate`: from arguments, files and standard
// input.

#ifndef RECIPERUN_SERVE_PROMPTS_H
#define RECIPERUN_SERVE_PROMPTS_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace reciperun::serve {

/// A prompt, or a file of prompts.
struct PromptSource {
  bool isFile = false;
  std::string value; // the text, or the path; `-` is standard input
};

struct Prompt {
  std::string text;
  std::string place; // for messages: "`a.txt`: line 3"; may be empty
};

/// All prompts, in order. A text file has one per line; a file whose name ends
/// in `.jsonl` has a JSON string or an object with a string `prompt` per line.
/// White-space lines are skipped. Fails when a file cannot be read or has no
/// prompt, when a line has another format, or when a prompt is not UTF-8.
Expected<std::vector<Prompt>>
readPrompts(const std::vector<PromptSource>& sources);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_H
