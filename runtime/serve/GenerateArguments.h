// The command line of `reciperun generate`, taken apart.

#ifndef RECIPERUN_SERVE_GENERATEARGUMENTS_H
#define RECIPERUN_SERVE_GENERATEARGUMENTS_H

#include "runtime/plan/Status.h"
#include "runtime/serve/Generator.h"
#include "runtime/serve/Prompts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

struct GenerateArguments {
  std::string directory;
  std::vector<PromptSource> prompts; // in the order in which they are answered
  GenerateOptions options;
  bool json = false; // an object a line instead of the text
  /// For comparison with other programs: ids instead of a prompt, and the file
  /// that their logits go to, whatever is there where `force` is set.
  std::vector<int32_t> tokenIds;
  std::string logitsPath;
  bool force = false;
  bool help = false;
};

/// What `--help` prints.
extern const char* const generateHelp;

/// Reads the arguments behind `generate`. Options take their value as `--name
/// VALUE` or `--name=VALUE`.
Expected<GenerateArguments>
parseGenerateArguments(const std::vector<std::string>& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_GENERATEARGUMENTS_H
