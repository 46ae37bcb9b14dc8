// The command lines of Megatron-LM's pretraining script:
// `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 ...`.

#ifndef RECIPEC_IMPORT_MEGATRONARGUMENTS_H
#define RECIPEC_IMPORT_MEGATRONARGUMENTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/Arguments.h"
#include "compiler/import/Job.h"

#include <optional>
#include <vector>

namespace recipec::importer {

/// Whether the words run Megatron-LM's script for GPT models.
bool isMegatron(const std::vector<Word>& words);

/// Converts the words to a job, with Megatron's defaults for missing options.
/// MegatronModel.h says which models. Returns nullopt, with diagnostics, if a
/// value is wrong, if a size is missing, or if the library has no such model.
std::optional<UnsizedJob> megatronJob(const std::vector<Word>& words,
                                      diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_MEGATRONARGUMENTS_H
