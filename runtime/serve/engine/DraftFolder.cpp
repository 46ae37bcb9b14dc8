// See DraftFolder.h.

#include "runtime/serve/engine/DraftFolder.h"

#include "runtime/checkpoint/HuggingFaceCheck.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/serve/engine/ServedModel.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace reciperun::serve {
namespace {

namespace fs = std::filesystem;

Status checkEqual(const char* what, int64_t draft, int64_t served) {
  if (draft == served)
    return Status::ok();
  return Status::error("the draft model's plan has " + std::to_string(draft) +
                       " " + what + ", and the model's plan " +
                       std::to_string(served) +
                       "; compile the plan again with `recipec plan`");
}

/// Both models must have the same slots and pages, because a sequence has the
/// same ones in both.
Status checkLimits(const plan::Plan& draft, const plan::Plan& served) {
  if (!draft.serving || draft.serving->hasStates || draft.mesh.ranks != 1)
    return Status::error("the draft model's plan does not serve on one rank "
                         "without states; compile the plan again with "
                         "`recipec plan`");
  const plan::Serving &ours = *draft.serving, &theirs = *served.serving;
  RECIPERUN_TRY(checkEqual("tokens of a vocabulary", draft.data.vocab,
                           served.data.vocab));
  RECIPERUN_TRY(checkEqual("slots", ours.maxBatch, theirs.maxBatch));
  RECIPERUN_TRY(
      checkEqual("tokens of a sequence", ours.maxTokens, theirs.maxTokens));
  RECIPERUN_TRY(checkEqual("tokens of a page", ours.page, theirs.page));
  return checkEqual("pages", ours.pages, theirs.pages);
}

std::string quoted(const std::string& text) {
  return "`" + text + "`";
}

std::string bytesOf(const data::Tokenizer& tokenizer, int32_t id) {
  return id < tokenizer.size() ? quoted(tokenizer.bytesOf(id)) : "no token";
}

/// Fails with the first id that is another token in the draft model.
Status compareTokens(const data::Tokenizer& draft,
                     const data::Tokenizer& served) {
  const int64_t most = std::max(draft.size(), served.size());
  for (int32_t id = 0; id < most; ++id)
    if (bytesOf(draft, id) != bytesOf(served, id))
      return Status::error(
          "id " + std::to_string(id) + " is " + bytesOf(draft, id) +
          " there, and the model's tokenizer has " + bytesOf(served, id));
  return Status::ok();
}

/// An id must be the same token in both models, else drafts are useless.
Status checkTokenizer(const fs::path& directory,
                      const data::Tokenizer& served) {
  const fs::path path = directory / "tokenizer.json";
  const Expected<data::Tokenizer> draft = data::Tokenizer::read(path.string());
  if (!draft)
    return draft.status().withRemedy(
        "copy the `tokenizer.json` of the draft model there, which is compared "
        "with that of the model");
  if (draft->fileText() == served.fileText())
    return Status::ok();
  return compareTokens(*draft, served)
      .withContext(quoted(path.string()))
      .withRemedy("name a draft model with the tokenizer of the model");
}

} // namespace

Expected<plan::Plan> draftPlan(const plan::Plan& served) {
  assert(served.draft && "the plan has a draft model");
  Expected<plan::Plan> plan = plan::fromJson(served.draft->plan);
  RECIPERUN_TRY(plan.status().withContext("the draft model's plan"));
  RECIPERUN_TRY(plan::validate(*plan).withContext("the draft model's plan"));
  RECIPERUN_TRY(checkLimits(*plan, served));
  return plan;
}

Expected<DraftFolder>
readDraftFolder(const plan::Plan& served,
                const std::optional<data::Tokenizer>& tokenizer) {
  Expected<plan::Plan> plan = draftPlan(served);
  RECIPERUN_TRY(plan);
  const fs::path path = served.draft->path;
  RECIPERUN_TRY(checkpoint::checkHuggingFace(*plan, path));
  if (tokenizer)
    RECIPERUN_TRY(checkTokenizer(path, *tokenizer));
  return DraftFolder{path, *std::move(plan)};
}

Expected<std::unique_ptr<DraftModel>> openDraft(const DraftFolder& folder,
                                                int threads) {
  auto model = ServedModel::open(folder.path, folder.plan, threads);
  RECIPERUN_TRY(model);
  const plan::Serving limits = (*model)->limits();
  return std::make_unique<DraftModel>(*std::move(model), limits);
}

} // namespace reciperun::serve
