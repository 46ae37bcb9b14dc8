// The prompts of `reciperun generate`: arguments, files, standard input.

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
  std::string place; // for messages: "`a.txt`: line 3"; "" of the only one
};

/// All prompts, in order. A file has one a line; one whose name ends in
/// `.jsonl` a JSON text or an object with a text `prompt`. Lines of white space
/// alone are passed over. Fails where a file cannot be read or has no prompt, a
/// line is something else, or a prompt is not UTF-8.
Expected<std::vector<Prompt>>
readPrompts(const std::vector<PromptSource>& sources);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_H
