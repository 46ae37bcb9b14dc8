// Answers the recipe's prompts with the model that the run exported.
//
// Runs on rank 0 after MPI is finalized: the training state has been freed, all
// cores are available, and the model is read back from the exported files.

#include "runtime/train/Answers.h"

#include "runtime/device/cpu/Threads.h"
#include "runtime/serve/Generator.h"

#include <cstdio>

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
  auto generator = serve::Generator::open(plan.exchange.hf, *threads);
  if (!generator)
    return generator.status();
  for (const std::string& prompt : prompts) {
    auto answer = (*generator)->answer(prompt, serve::GenerateOptions());
    if (!answer)
      return answer.status().withContext("prompt `" + prompt + "`");
    print("prompt:", prompt);
    print("answer:", answer->text);
    std::fflush(stdout);
  }
  return Status::ok();
}

} // namespace reciperun::train
