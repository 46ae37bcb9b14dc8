// The draft model of a served model: its plan, which the compiler has made for
// the limits of the served one, and the directory of its weights.

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

/// The plan of the draft model of `served`. Fails when it is invalid, and when
/// its vocabulary, slots or pages are not those of `served`.
Expected<plan::Plan> draftPlan(const plan::Plan& served);

/// The draft model of the plan of a folder. Fails, with the remedy, when its
/// directory has not the model's tensors, and when it gives an id another
/// meaning than `tokenizer`, that of the folder. Reads no weights.
Expected<DraftFolder>
readDraftFolder(const plan::Plan& served,
                const std::optional<data::Tokenizer>& tokenizer);

/// Loads the draft model on this process's device. `threads` of the host are
/// used.
Expected<std::unique_ptr<DraftModel>> openDraft(const DraftFolder& folder,
                                                int threads);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_DRAFTFOLDER_H
