// The command line of `reciperun generate`.

#ifndef RECIPERUN_SERVE_COMMANDS_GENERATEARGUMENTS_H
#define RECIPERUN_SERVE_COMMANDS_GENERATEARGUMENTS_H

#include "runtime/cli/Command.h"
#include "runtime/serve/engine/AdapterArguments.h"
#include "runtime/serve/prompts/PromptFile.h"
#include "runtime/serve/sampling/SamplingArguments.h"
#include "runtime/serve/structured/GrammarArguments.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

struct GenerateArguments {
  std::vector<std::string> directories; // exactly one
  std::vector<PromptSource> prompts;    // in the order of answers
  SamplingArguments sampling;
  std::vector<NamedAdapter> adapters;
  GrammarArguments grammar; // that all answers have
  bool json = false;        // one object per line instead of text
  std::string output;       // a file of answers instead of stdout
  bool resume = false;      // answer only the prompts that `output` lacks
  int threads = 0;          // of the CPU; 0: OMP_NUM_THREADS or all cores
  /// For comparison with other programs: ids instead of a prompt, and the
  /// output file of their logits.
  std::vector<int32_t> tokenIds;
  std::string logitsPath;
  bool force = false; // replace the files of answers or logits
};

/// The command without its `run`; it stores its values in `arguments`, which
/// must outlive it.
cli::Command describeGenerate(GenerateArguments& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_GENERATEARGUMENTS_H
