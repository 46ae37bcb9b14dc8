// 1. Read the prompts; 2. open the model; 3. answer each prompt, or write the
//    logits of given ids.

#include "runtime/serve/commands/GenerateCommand.h"

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/device/cpu/Threads.h"
#include "runtime/exec/Devices.h"
#include "runtime/serve/commands/GenerateArguments.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace reciperun::serve {
namespace {

/// Checks that the path is free, or has the logits of an earlier call.
Status checkLogitsPath(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, code)))
    return Status::ok();
  auto file = checkpoint::SafetensorsFile::open(path);
  if (file && file->tensors().size() == 1 && file->find("logits"))
    return Status::ok();
  return Status::error("`" + path +
                       "` is there and holds no logits; choose another file, "
                       "or replace it by `--force`");
}

Status writeLogits(Generator& generator, const GenerateArguments& arguments) {
  Expected<Logits> logits = generator.logits(arguments.tokenIds);
  RECIPERUN_TRY(logits);
  auto writer = checkpoint::SafetensorsWriter::create(
      arguments.logitsPath,
      {{"logits", "F32", {logits->tokens, logits->vocab}}});
  RECIPERUN_TRY(writer);
  RECIPERUN_TRY(writer->append(std::as_bytes(std::span(logits->values))));
  return writer->finish();
}

const char* nameOf(Stop stop) {
  switch (stop) {
  case Stop::endToken:
    return "end_token";
  case Stop::tokenLimit:
    return "token_limit";
  case Stop::cacheFull:
    return "cache_full";
  }
  return "";
}

void explainStop(const Answer& answer, const Prompt& prompt,
                 const Generator& generator,
                 const GenerateArguments& arguments) {
  const std::string note =
      "note: " + prompt.place + (prompt.place.empty() ? "" : ": ");
  if (answer.stop == Stop::tokenLimit)
    std::fprintf(stderr, "%sended at `--max-tokens` = %lld\n", note.c_str(),
                 static_cast<long long>(arguments.options.maxTokens));
  if (answer.stop == Stop::cacheFull)
    std::fprintf(
        stderr, "%sended where the plan's KV cache of %lld tokens is full\n",
        note.c_str(), static_cast<long long>(generator.plan().cacheTokens));
}

Status printAnswer(Generator& generator, const Prompt& prompt,
                   const GenerateArguments& arguments) {
  auto print = [](std::string_view piece) {
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  };
  Expected<Answer> answer =
      generator.answer(prompt.text, arguments.options,
                       arguments.json ? Generator::TextSink() : print);
  if (!answer)
    return prompt.place.empty() ? answer.status()
                                : answer.status().withContext(prompt.place);
  if (arguments.json)
    print(nlohmann::ordered_json{{"prompt", prompt.text},
                                 {"answer", answer->text},
                                 {"tokens", answer->ids.size()},
                                 {"stop", nameOf(answer->stop)}}
              .dump());
  print("\n");
  if (!arguments.json)
    explainStop(*answer, prompt, generator, arguments);
  return Status::ok();
}

int fail(const Status& status, int code) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return code;
}

/// Returns the number of prompts that could not be answered.
size_t printAnswers(Generator& generator, const std::vector<Prompt>& prompts,
                    const GenerateArguments& arguments) {
  size_t failures = 0;
  if (generator.recomputes())
    std::fputs("note: the model has state-space layers, whose states are not "
               "kept: each token\ntakes as long as all before it\n",
               stderr);
  for (size_t i = 0; i < prompts.size() && !std::ferror(stdout); ++i) {
    if (i > 0 && !arguments.json)
      std::fputs("\n", stdout);
    if (Status done = printAnswer(generator, prompts[i], arguments);
        !done.isOk()) {
      fail(done, 1);
      ++failures;
    }
  }
  return failures;
}

int run(const GenerateArguments& arguments) {
  Expected<std::vector<Prompt>> prompts = readPrompts(arguments.prompts);
  if (!prompts)
    return fail(prompts.status(), 1);
  if (!arguments.logitsPath.empty() && !arguments.force)
    if (Status free = checkLogitsPath(arguments.logitsPath); !free.isOk())
      return fail(free, 1);
  Expected<int> threads = device::threadsOfProcess(/*sharing=*/1);
  if (!threads)
    return fail(threads.status(), 1);
  const std::filesystem::path directory = arguments.directories.front();
  Expected<plan::Plan> plan = Generator::readPlan(directory);
  if (!plan)
    return fail(plan.status(), 1);
  device::setEnvironment(exec::environmentOf(*plan));
  auto generator = Generator::open(directory, *std::move(plan), *threads);
  if (!generator)
    return fail(generator.status(), 1);
  if (!arguments.logitsPath.empty()) {
    Status done = writeLogits(**generator, arguments);
    return done.isOk() ? 0 : fail(done, 1);
  }
  size_t failures = printAnswers(**generator, *prompts, arguments);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return fail(Status::error("cannot write the answers to stdout"), 1);
  return failures == 0 ? 0 : 1;
}

} // namespace

cli::Command generateCommand() {
  const auto arguments = std::make_shared<GenerateArguments>();
  cli::Command command = describeGenerate(*arguments);
  command.run = [arguments] { return run(*arguments); };
  return command;
}

} // namespace reciperun::serve
