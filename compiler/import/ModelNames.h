// Models of the standard library by the names that other programs give them.

#ifndef RECIPEC_IMPORT_MODELNAMES_H
#define RECIPEC_IMPORT_MODELNAMES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/Job.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer {

/// Finds the model for the name of a Hugging Face repository
/// (`meta-llama/Llama-2-7b-hf`), of a file (`/models/llama-2-7b.nemo`) or of a
/// NeMo class (`nemo.collections.llm.Llama3Config8B`).
std::optional<Model> modelCalled(std::string_view name,
                                 const std::vector<Model>& library);

/// The same, but reports a missing model at `range`.
std::optional<Model> requireModel(const std::string& name,
                                  const std::vector<Model>& library,
                                  SourceRange range, diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_MODELNAMES_H
