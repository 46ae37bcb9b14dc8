// A command line of NeMo's performance scripts:
// `python -m scripts.performance.llm.pretrain_llama3_8b --gpu h100 -tp 1`.

#ifndef RECIPEC_IMPORT_PERFORMANCESCRIPT_H
#define RECIPEC_IMPORT_PERFORMANCESCRIPT_H

#include "compiler/import/Arguments.h"
#include "compiler/import/Performance.h"

namespace recipec::importer {

/// The configuration of a command. Returns nullopt, with diagnostics, if it
/// runs none of the scripts, if a value is wrong, or if neither the command nor
/// `table` gives a size that the script takes from its table. `table` are the
/// rows of NeMo's table for the GPU; it may be empty.
/// `whole` is the place of the command.
std::optional<PerformanceConfig>
readScript(const CommandLine& command, SourceRange whole,
           const std::vector<PerformanceConfig>& table, diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_PERFORMANCESCRIPT_H
