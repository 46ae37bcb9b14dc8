// The command line of `reciperun generate`.

#ifndef RECIPERUN_SERVE_GENERATEARGUMENTS_H
#define RECIPERUN_SERVE_GENERATEARGUMENTS_H

#include "runtime/cli/Command.h"
#include "runtime/serve/Generator.h"
#include "runtime/serve/Prompts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

struct GenerateArguments {
  std::vector<std::string> directories; // one
  std::vector<PromptSource> prompts; // in the order in which they are answered
  GenerateOptions options;
  bool json = false; // an object a line instead of the text
  /// For comparison with other programs: ids instead of a prompt, and the file
  /// that their logits go to, whatever is there where `force` is set.
  std::vector<int32_t> tokenIds;
  std::string logitsPath;
  bool force = false;
};

/// The command without what it does; it stores its values in `arguments`, which
/// outlives it.
cli::Command describeGenerate(GenerateArguments& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_GENERATEARGUMENTS_H
