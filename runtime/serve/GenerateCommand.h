// `reciperun generate`: a prompt in, text out.

#ifndef RECIPERUN_SERVE_GENERATECOMMAND_H
#define RECIPERUN_SERVE_GENERATECOMMAND_H

#include "runtime/plan/Status.h"
#include "runtime/serve/Generator.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

/// The command line, taken apart.
struct GenerateArguments {
  std::string directory;
  std::string prompt;
  bool hasPrompt = false;
  GenerateOptions options;
  /// For comparison with other programs: ids instead of a prompt, and the file
  /// that their logits go to.
  std::vector<int32_t> tokenIds;
  std::string logitsPath;
  bool help = false;
};

/// Reads the arguments behind `generate`. Options take their value as `--name
/// VALUE` or `--name=VALUE`.
Expected<GenerateArguments>
parseGenerateArguments(const std::vector<std::string>& arguments);

/// Carries out `reciperun generate` and returns the exit code: 0 done, 1
/// failed, 2 a command line that makes no sense. The answer goes to stdout, why
/// it ended early to stderr.
int generateCommand(const std::vector<std::string>& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_GENERATECOMMAND_H
