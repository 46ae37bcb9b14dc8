// The model that Megatron-LM's options describe.

#ifndef RECIPEC_IMPORT_MEGATRONMODEL_H
#define RECIPEC_IMPORT_MEGATRONMODEL_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/Job.h"
#include "compiler/import/Rules.h"

#include <cstdint>
#include <optional>

namespace recipec::importer {

/// Makes the job's model of the options that describe it: `deepseek`, `gpt3`,
/// `llama`, `mixtral`, `qwen2`, `qwen3` or `qwen3_moe` with the sizes of the
/// command, and Megatron's defaults.
/// Lists in the job the options that change the training of a model, but that
/// the library's model does not have. Returns the number of layers; nullopt,
/// with a diagnostic at `range`, if a size is missing or if the library has no
/// such architecture.
std::optional<int64_t> readMegatronModel(Found& found, Job& job,
                                         SourceRange range,
                                         diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_MEGATRONMODEL_H
