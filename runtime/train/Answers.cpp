// Answers the recipe's prompts with the model that the run exported.
//
// Runs on rank 0 after MPI is finalized: the training state has been freed, all
// cores are available, and the model is read back from the exported files.

#include "runtime/train/Answers.h"

#include "runtime/device/cpu/Threads.h"
#include "runtime/serve/commands/BatchAnswers.h"
#include "runtime/serve/engine/ModelFolder.h"
#include "runtime/serve/engine/ServedModel.h"
#include "runtime/serve/prompts/PromptTokens.h"

#include <cstdio>
#include <utility>
#include <vector>

namespace reciperun::train {
namespace {

/// Prints a prompt or an answer on its own lines; all lines are indented alike.
void print(const char* label, const std::string& text) {
  std::string shown;
  for (char letter : text) {
    shown += letter;
    if (letter == '\n')
      shown += "        ";
  }
  std::printf("%s %s\n", label, shown.c_str());
}

/// Keeps all answers, by prompt.
struct AnswerCollector : serve::AnswerSink {
  explicit AnswerCollector(size_t prompts) : answers(prompts) {}
  void piece(size_t, std::string_view) override {}
  Status finished(size_t prompt, const serve::Answer& answer) override {
    answers[prompt] = answer;
    return Status::ok();
  }

  std::vector<serve::Answer> answers;
};

} // namespace

Status answerPrompts(const plan::Plan& plan) {
  const std::vector<std::string>& prompts = plan.train.prompts;
  if (prompts.empty())
    return Status::ok();
  if (plan.exchange.hf.empty())
    return Status::error("`train.prompts` are answered from the exported "
                         "model, and `export.hf` is not set");
  Expected<int> threads = device::threadsOfProcess(/*sharing=*/1);
  RECIPERUN_TRY(threads);
  Expected<serve::ModelFolder> folder =
      serve::readModelFolder(plan.exchange.hf);
  RECIPERUN_TRY(folder);
  if (!folder->tokenizer)
    return serve::noTokenizer(*folder);
  auto tokens =
      serve::PromptTokens::open(folder->path, folder->plan, *folder->tokenizer);
  RECIPERUN_TRY(tokens);
  auto model = serve::ServedModel::open(folder->path, folder->plan, *threads);
  RECIPERUN_TRY(model);
  const auto engine = serve::makeEngine(*folder, *std::move(model));
  RECIPERUN_TRY(engine);
  std::vector<serve::Prompt> asked;
  for (const std::string& prompt : prompts)
    asked.push_back({prompt, "prompt `" + prompt + "`", {}, {}, {}});
  AnswerCollector collector(asked.size());
  serve::BatchAnswers batch(**engine, *folder, *tokens);
  RECIPERUN_TRY(batch.run(
      asked, [](size_t) { return true; }, collector));
  for (size_t i = 0; i < prompts.size(); ++i) {
    const serve::Answer& answer = collector.answers[i];
    if (answer.reason == serve::FinishReason::failed)
      return Status::error(answer.error).withContext(asked[i].place);
    print("prompt:", prompts[i]);
    print("answer:", answer.text);
    std::fflush(stdout);
  }
  return Status::ok();
}

} // namespace reciperun::train
