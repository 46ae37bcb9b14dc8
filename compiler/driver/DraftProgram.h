// The draft model of a recipe that serves: a smaller model that runs on the
// same device and within the same limits as the served one.

#ifndef RECIPEC_DRIVER_DRAFTPROGRAM_H
#define RECIPEC_DRIVER_DRAFTPROGRAM_H

#include "compiler/driver/Pipeline.h"

#include <memory>

namespace recipec::driver {

/// Whether the recipe serves, and `serve.draft` names a model.
bool hasDraftModel(const recipe::Recipe& recipe);

/// Compiles the model in the folder of `serve.draft` as the draft of `served`:
/// the same recipe on one rank, with the folder's model. `changes` are those of
/// `served`. The cache has its own estimated number of pages until fitCache()
/// sets it. Returns null, with diagnostics at `serve.draft`, if the library has
/// no such model, or if the model cannot be served within the limits or cannot
/// discard guesses.
std::shared_ptr<Compilation> compileDraft(Session& session,
                                          diag::Engine& engine,
                                          const recipe::Recipe& served,
                                          const sema::Changes& changes,
                                          Verification verification);

/// Updates a draft model's figures after fitCache() has set its pages, and adds
/// its memory to the first stage of `served`.
void countDraft(Compilation& draft, const recipe::Recipe& served,
                cost::Estimate& estimate);

/// Reports a draft model whose vocabulary size differs from that of the served
/// one. `stages` are those of the served model.
void checkDraftVocabulary(const Compilation& draft,
                          const std::vector<ir::Module>& stages,
                          const recipe::Recipe& served, diag::Engine& engine);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_DRAFTPROGRAM_H
