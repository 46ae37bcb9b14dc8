// The options of Megatron-LM's pretrain_gpt.py and of torchrun, and what each
// of them means for a recipe.

#ifndef RECIPEC_IMPORT_MEGATRONRULES_H
#define RECIPEC_IMPORT_MEGATRONRULES_H

#include "compiler/import/Rules.h"

#include <span>

namespace recipec::importer {

/// The rules for torchrun's options.
std::span<const Rule> torchrunRules();

/// The rules for the script's options.
std::span<const Rule> megatronRules();

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_MEGATRONRULES_H
