// The command line of `reciperun generate`.

#ifndef RECIPERUN_SERVE_COMMANDS_GENERATEARGUMENTS_H
#define RECIPERUN_SERVE_COMMANDS_GENERATEARGUMENTS_H

#include "runtime/cli/Command.h"
#include "runtime/serve/Generator.h"
#include "runtime/serve/Prompts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

struct GenerateArguments {
  std::vector<std::string> directories; // exactly one
  std::vector<PromptSource> prompts;    // in the order of answers
  GenerateOptions options;
  bool json = false; // one object per line instead of text
  /// For comparison with other programs: ids instead of a prompt, and the
  /// output file of their logits, which is overwritten unconditionally when
  /// `force` is set.
  std::vector<int32_t> tokenIds;
  std::string logitsPath;
  bool force = false;
};

/// The command without its `run`; it stores its values in `arguments`, which
/// must outlive it.
cli::Command describeGenerate(GenerateArguments& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_GENERATEARGUMENTS_H
