// 1. Read the prompts; 2. open the model; 3. answer the prompts, or write the
//    logits of given ids.

#include "runtime/serve/commands/GenerateCommand.h"

#include "runtime/base/SamePlace.h"
#include "runtime/base/StopSignal.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/serve/commands/AnswerSinks.h"
#include "runtime/serve/commands/GenerateArguments.h"
#include "runtime/serve/engine/PromptLogits.h"
#include "runtime/serve/engine/ServingRanks.h"
#include "runtime/serve/structured/GrammarConstraint.h"

#include <cstdio>
#include <memory>

namespace reciperun::serve {
namespace {

/// Checks that the path is free, or has the logits of an earlier call.
Status checkLogitsPath(const std::string& path) {
  if (isAbsent(path))
    return Status::ok();
  auto file = checkpoint::SafetensorsFile::open(path);
  if (file && file->tensors().size() == 1 && file->find("logits"))
    return Status::ok();
  return Status::error("`" + path +
                       "` is there and holds no logits; choose another file, "
                       "or replace it by `--force`");
}

/// Checks that the answers do not replace the prompts.
Status checkOutput(const GenerateArguments& arguments) {
  for (const PromptSource& source : arguments.prompts)
    if (source.isFile && isSamePlace(source.value, arguments.output))
      return Status::error("`" + arguments.output +
                           "` is the file of the prompts; name another file "
                           "by `--output`");
  return Status::ok();
}

Status writeLogits(const ModelFolder& folder, ServingRanks& ranks,
                   const GenerateArguments& arguments) {
  auto model = ranks.open(folder);
  RECIPERUN_TRY(model);
  Expected<Logits> logits =
      promptLogits(**model, *folder.plan.serving, arguments.tokenIds);
  RECIPERUN_TRY(logits);
  auto writer = checkpoint::SafetensorsWriter::create(
      arguments.logitsPath,
      {{"logits", "F32", {logits->tokens, logits->vocab}}});
  RECIPERUN_TRY(writer);
  RECIPERUN_TRY(writer->append(std::as_bytes(std::span(logits->values))));
  return writer->finish();
}

/// Counts of a run, for answers on stdout or in a file.
struct Outcome {
  size_t failures = 0;
  size_t answers = 0; // in the file
};

using Grammar = std::shared_ptr<const grammar::Automaton>; // or null

/// The engine of a folder and the encoder of its prompts.
struct Opened {
  PromptTokens tokens;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<grammar::MaskTable> masks; // null without a grammar
};

Expected<Opened> openAll(const ModelFolder& folder, const Grammar& grammar,
                         ServingRanks& ranks,
                         const GenerateArguments& arguments) {
  if (!folder.tokenizer)
    return noTokenizer(folder);
  Expected<PromptTokens> tokens =
      PromptTokens::open(folder.path, folder.plan, *folder.tokenizer);
  RECIPERUN_TRY(tokens);
  auto model = ranks.open(folder);
  RECIPERUN_TRY(model);
  auto engine = makeEngine(folder, *std::move(model));
  RECIPERUN_TRY(engine);
  RECIPERUN_TRY(addAdapters(arguments.adapters, **engine));
  Opened opened{*std::move(tokens), *std::move(engine), {}};
  if (grammar)
    opened.masks = std::make_shared<grammar::MaskTable>(
        grammar, vocabularyOf(*folder.tokenizer, opened.engine->vocab()));
  return opened;
}

/// Prints how many tokens of drafts were accepted.
void reportGuesses(const Engine& engine) {
  const SchedulerStatistics& counts = engine.statistics().scheduler;
  if (counts.draftedTokens > 0)
    std::fprintf(stderr, "note: of %lld guessed tokens %lld were accepted\n",
                 static_cast<long long>(counts.draftedTokens),
                 static_cast<long long>(counts.acceptedTokens));
}

Expected<Outcome> answerToStdout(const ModelFolder& folder,
                                 const std::vector<Prompt>& prompts,
                                 const Grammar& grammar, ServingRanks& ranks,
                                 const GenerateArguments& arguments) {
  Expected<Opened> opened = openAll(folder, grammar, ranks, arguments);
  RECIPERUN_TRY(opened);
  watchStopSignals();
  BatchAnswers batch(*opened->engine, folder, opened->tokens, opened->masks);
  StdoutSink sink(prompts, opened->engine->limits(), arguments.json);
  const Status done = batch.run(
      prompts, [](size_t) { return true; }, sink);
  sink.endLine();
  RECIPERUN_TRY(done);
  reportGuesses(*opened->engine);
  return Outcome{sink.failures(), 0};
}

Expected<Outcome> answerToFile(const ModelFolder& folder,
                               const std::vector<Prompt>& prompts,
                               const Grammar& grammar, ServingRanks& ranks,
                               const GenerateArguments& arguments) {
  using Existing = AnswerFile::Existing;
  // Opened before the model, so that a mistake is reported at once.
  Expected<AnswerFile> file =
      AnswerFile::open(arguments.output,
                       arguments.resume  ? Existing::resume
                       : arguments.force ? Existing::replace
                                         : Existing::refuse,
                       prompts);
  RECIPERUN_TRY(file);
  if (file->answers() == prompts.size())
    return Outcome{0, prompts.size()};
  Expected<Opened> opened = openAll(folder, grammar, ranks, arguments);
  RECIPERUN_TRY(opened);
  watchStopSignals();
  BatchAnswers batch(*opened->engine, folder, opened->tokens, opened->masks);
  FileSink sink(prompts, *file);
  const Status done = batch.run(
      prompts, [&](size_t i) { return !file->has(i); }, sink);
  sink.endLine();
  // Also after a failure: the answers so far are kept for `--resume`.
  const Status closed = file->close();
  RECIPERUN_TRY(done);
  RECIPERUN_TRY(closed);
  reportGuesses(*opened->engine);
  return Outcome{sink.failures(), sink.answers()};
}

/// Reports that a signal stopped the run, and how many answers are in the file.
void reportStop(const Outcome& outcome, size_t prompts,
                const GenerateArguments& arguments) {
  if (arguments.output.empty())
    std::fprintf(stderr, "note: stopped by signal %d\n", stopSignal());
  else
    std::fprintf(stderr,
                 "note: stopped by signal %d; `%s` has the answers to %zu of "
                 "%zu prompts, and `--resume` answers the rest\n",
                 stopSignal(), arguments.output.c_str(), outcome.answers,
                 prompts);
}

/// The part of rank 0.
Expected<int> generate(const GenerateArguments& arguments,
                       const ModelFolder& folder, ServingRanks& ranks) {
  RECIPERUN_TRY(checkOutput(arguments));
  Expected<std::vector<Prompt>> prompts =
      readPrompts(arguments.prompts, arguments.sampling);
  RECIPERUN_TRY(prompts);
  if (arguments.adapters.size() == 1)
    for (Prompt& prompt : *prompts)
      if (!prompt.adapter)
        prompt.adapter = arguments.adapters.front().name;
  Expected<Grammar> grammar = compileGrammar(arguments.grammar);
  RECIPERUN_TRY(grammar);
  const bool wantsLogits = !arguments.logitsPath.empty();
  if (wantsLogits && !arguments.force)
    RECIPERUN_TRY(checkLogitsPath(arguments.logitsPath));
  if (wantsLogits) {
    RECIPERUN_TRY(writeLogits(folder, ranks, arguments));
    return 0;
  }
  Expected<Outcome> outcome =
      arguments.output.empty()
          ? answerToStdout(folder, *prompts, *grammar, ranks, arguments)
          : answerToFile(folder, *prompts, *grammar, ranks, arguments);
  RECIPERUN_TRY(outcome);
  if (stopSignal() != 0) {
    reportStop(*outcome, prompts->size(), arguments);
    return 128 + stopSignal();
  }
  return outcome->failures == 0 ? 0 : 1;
}

int runGenerate(const GenerateArguments& arguments) {
  const Expected<ModelFolder> folder =
      readModelFolder(arguments.directories.front(), arguments.adapters.size());
  const auto ranks = ServingRanks::join(folder, arguments.threads);
  if (!ranks->leads())
    return ranks->follow(folder);
  const Expected<int> code = ranks->status().isOk()
                                 ? generate(arguments, *folder, *ranks)
                                 : Expected<int>(ranks->status());
  if (code)
    return *code;
  std::fprintf(stderr, "error: %s\n", code.message().c_str());
  return 1;
}

} // namespace

cli::Command generateCommand() {
  const auto arguments = std::make_shared<GenerateArguments>();
  cli::Command command = describeGenerate(*arguments);
  command.run = [arguments] { return runGenerate(*arguments); };
  return command;
}

} // namespace reciperun::serve
