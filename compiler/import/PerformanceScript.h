// A command line of NeMo's performance scripts:
// `python -m scripts.performance.llm.pretrain_llama3_8b --gpu h100 -tp 1`.

#ifndef RECIPEC_IMPORT_PERFORMANCESCRIPT_H
#define RECIPEC_IMPORT_PERFORMANCESCRIPT_H

#include "compiler/import/Arguments.h"
#include "compiler/import/Performance.h"

namespace recipec::importer {

/// Reads the configuration of a command. `table` has the rows of NeMo's table
/// for the GPU, and may be empty. `whole` is the range of the command. Returns
/// nullopt, with diagnostics, if the command runs none of the scripts, if a
/// value is wrong, or if neither the command nor `table` gives a required size.
std::optional<PerformanceConfig>
readScript(const CommandLine& command, SourceRange whole,
           const std::vector<PerformanceConfig>& table, diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_PERFORMANCESCRIPT_H
