// The draft model of a recipe that serves: a smaller model beside the served
// one, on its device and with its limits.

#ifndef RECIPEC_DRIVER_DRAFTPROGRAM_H
#define RECIPEC_DRIVER_DRAFTPROGRAM_H

#include "compiler/driver/Pipeline.h"

#include <memory>

namespace recipec::driver {

/// Whether the recipe serves, and `serve.draft` names a model.
bool hasDraftModel(const recipe::Recipe& recipe);

/// Compiles the model of the folder that `serve.draft` names, as the draft of
/// `served`: the same recipe on one rank, with the folder's model in place of
/// its own. `changes` are those of `served`. The cache has the pages of its
/// own estimate until fitCache() sets them. Returns null, with diagnostics at
/// `serve.draft`, when the folder is no model of the library, or when its model
/// cannot be served within the limits or take guesses back.
std::shared_ptr<Compilation> compileDraft(Session& session,
                                          diag::Engine& engine,
                                          const recipe::Recipe& served,
                                          const sema::Changes& changes,
                                          Verification verification);

/// Updates the figures of a draft model after fitCache() has set its pages, and
/// adds its memory to that of the first stage of `served`.
void countDraft(Compilation& draft, const recipe::Recipe& served,
                cost::Estimate& estimate);

/// Reports a draft model whose vocabulary is of another size than that of the
/// served one, whose stages are given.
void checkDraftVocabulary(const Compilation& draft,
                          const std::vector<ir::Module>& stages,
                          const recipe::Recipe& served, diag::Engine& engine);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_DRAFTPROGRAM_H
