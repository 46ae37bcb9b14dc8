// The draft model of a served model: its plan, which the compiler has made with
// the limits of the served model, and the directory of its weights.

#ifndef RECIPERUN_SERVE_ENGINE_DRAFTFOLDER_H
#define RECIPERUN_SERVE_ENGINE_DRAFTFOLDER_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/DraftModel.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace reciperun::serve {

struct DraftFolder {
  std::filesystem::path path; // empty: weights are drawn
  plan::Plan plan;            // of serving, for one rank
};

/// The plan of the draft model of `served`. Fails when the plan is invalid, and
/// when its vocabulary, slots or pages differ from those of `served`.
Expected<plan::Plan> draftPlan(const plan::Plan& served);

/// The draft model that a folder's plan names. Fails, with the remedy, when its
/// directory lacks tensors of the model, and when an id is another token there
/// than in `tokenizer`, the folder's own. Reads no weights.
Expected<DraftFolder>
readDraftFolder(const plan::Plan& served,
                const std::optional<data::Tokenizer>& tokenizer);

/// Loads the draft model on this process's device. It uses `threads` CPU
/// threads.
Expected<std::unique_ptr<DraftModel>> openDraft(const DraftFolder& folder,
                                                int threads);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_DRAFTFOLDER_H
