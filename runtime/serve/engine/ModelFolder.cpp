// See ModelFolder.h. A wrong path is the most frequent mistake: its message
// says what the path is and how a model comes from it.

#include "runtime/serve/engine/ModelFolder.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/HubName.h"
#include "runtime/data/Documents.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/serve/engine/CompilePlan.h"
#include "runtime/serve/engine/EndTokens.h"

#include <utility>

namespace reciperun::serve {
namespace {

namespace fs = std::filesystem;

Status checkServingPlan(const plan::Plan& plan, const fs::path& path) {
  std::string place = "`" + path.string() + "`";
  if (!plan.serving)
    return Status::error(place + " is of task `" + plan.task +
                         "`, not `serve`; compile one with `recipec plan FILE "
                         "--set 'task=\"serve\"' -o " +
                         path.string() + "`");
  return Status::ok();
}

/// The error for a path that is no exported model: says what it is, and how a
/// model comes from it.
Status noModel(const fs::path& path) {
  using checkpoint::FolderKind;
  const checkpoint::Folder folder = checkpoint::lookAt(path);
  if (folder.kind == FolderKind::missing)
    return Status::error(checkpoint::describeMissingModel(path));
  std::string message = checkpoint::describe(path, folder);
  const fs::path saved =
      folder.kind == FolderKind::checkpoint ? path : folder.newest;
  if (folder.kind == FolderKind::adapter)
    message += "; give the folder of the export, where it is merged into the "
               "weights";
  else if (folder.kind == FolderKind::model || folder.kind == FolderKind::other)
    message = "`" + path.string() +
              "` holds neither `generate.plan.json` nor `config.json`, so that "
              "it is no model; give the folder that `export.hf` names";
  else if (folder.kind == FolderKind::file)
    message += "; give the folder of a model";
  else if (folder.kind == FolderKind::run && saved.empty())
    message += ": " + checkpoint::howToSave();
  else if (!saved.empty())
    message += "; write a model of it with `reciperun convert " +
               saved.string() + " DIR`, and give DIR";
  return Status::error(message);
}

/// The given plan, the folder's own, or one that is compiled for it.
Expected<plan::Plan> folderPlan(const fs::path& directory, size_t adapters,
                                const fs::path& given) {
  RECIPERUN_TRY(checkpoint::checkListable(directory));
  const fs::path path = directory / "generate.plan.json";
  const bool hasConfig = isThere(directory / "config.json"),
             hasPlan = !isAbsent(path);
  if (!given.empty() && hasConfig)
    return plan::readPlan(given.string());
  if (hasPlan && !hasConfig && isAddress(directory))
    return Status::error(
        "`" + directory.string() +
        "` holds no `config.json`, the file that an export to an object store "
        "writes last; wait for its end, or export the model again");
  if (hasPlan)
    return plan::readPlan(path.string());
  if (!hasConfig)
    return noModel(directory);
  std::vector<std::string> settings;
  if (adapters > 0)
    settings.push_back("serve.adapters=" + std::to_string(adapters));
  return compilePlan(directory, settings);
}

/// The tokenizer of a folder; nullopt when it has none.
Expected<std::optional<data::Tokenizer>>
folderTokenizer(const fs::path& directory) {
  const fs::path path = directory / "tokenizer.json";
  if (isAddress(path) ? isAbsent(path) : !isThere(path))
    return std::optional<data::Tokenizer>();
  Expected<data::Tokenizer> read = data::Tokenizer::read(path.string());
  RECIPERUN_TRY(read);
  return std::optional<data::Tokenizer>(*std::move(read));
}

} // namespace

Expected<ModelFolder> readModelFolder(const fs::path& path, size_t adapters,
                                      const fs::path& given) {
  Expected<plan::Plan> plan = folderPlan(path, adapters, given);
  RECIPERUN_TRY(plan);
  RECIPERUN_TRY(checkServingPlan(
      *plan, given.empty() ? path / "generate.plan.json" : given));
  Expected<std::optional<data::Tokenizer>> tokenizer = folderTokenizer(path);
  RECIPERUN_TRY(tokenizer);
  Expected<std::set<int32_t>> ends =
      readEndTokens(path / "generation_config.json");
  RECIPERUN_TRY(ends);
  if (plan->data.eosToken >= 0)
    ends->insert(int32_t(plan->data.eosToken));
  ModelFolder folder{path, *std::move(plan), *std::move(tokenizer),
                     *std::move(ends)};
  if (folder.plan.draft) {
    Expected<DraftFolder> draft =
        readDraftFolder(folder.plan, folder.tokenizer);
    RECIPERUN_TRY(draft.status().withContext("`serve.draft`"));
    folder.draft = *std::move(draft);
  }
  return folder;
}

Status noTokenizer(const ModelFolder& folder) {
  return Status::error("`" + folder.path.string() +
                       "` holds no `tokenizer.json`; copy that of the model "
                       "there");
}

Expected<std::vector<int32_t>> encodePrompt(const ModelFolder& folder,
                                            const std::string& prompt) {
  if (!folder.tokenizer)
    return noTokenizer(folder);
  return data::encodePrompt(folder.plan.data, *folder.tokenizer, prompt);
}

Expected<std::unique_ptr<Engine>> makeEngine(const ModelFolder& folder,
                                             std::unique_ptr<StepModel> model) {
  std::unique_ptr<DraftSource> drafts;
  if (folder.draft) {
    Expected<std::unique_ptr<DraftModel>> opened =
        openDraft(*folder.draft, model->threads());
    RECIPERUN_TRY(opened.status().withContext("`serve.draft`"));
    drafts = *std::move(opened);
  }
  return std::make_unique<Engine>(std::move(model), *folder.plan.serving,
                                  folder.endTokens, std::move(drafts));
}

} // namespace reciperun::serve
