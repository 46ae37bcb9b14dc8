// Prompts are encoded and submitted as the engine starts earlier ones, so that
// the first step does not wait for the encoding of all of them.

#include "runtime/serve/commands/BatchAnswers.h"

#include "runtime/base/StopSignal.h"
#include "runtime/serve/structured/GrammarConstraint.h"

#include <utility>

namespace reciperun::serve {

BatchAnswers::BatchAnswers(Engine& engine, const ModelFolder& folder,
                           const PromptTokens& tokens,
                           std::shared_ptr<grammar::MaskTable> grammar)
    : engine(engine), folder(folder), tokens(tokens), masks(std::move(grammar)),
      now(std::time(nullptr)) {}

Status BatchAnswers::run(std::span<const Prompt> prompts,
                         const std::function<bool(size_t prompt)>& isWanted,
                         AnswerSink& sink) {
  size_t next = 0;
  while (stopSignal() == 0) {
    for (; next < prompts.size() &&
           engine.statistics().waiting < engine.limits().maxBatch;
         ++next)
      if (isWanted(next))
        RECIPERUN_TRY(submit(prompts[next], next, sink));
    if (next == prompts.size() && engine.isIdle())
      return Status::ok();
    RECIPERUN_TRY(step(sink));
  }
  return Status::ok();
}

Status BatchAnswers::submit(const Prompt& prompt, size_t index,
                            AnswerSink& sink) {
  Answer answer;
  SamplingOptions options;
  Expected<RequestId> id = trySubmit(prompt, options, answer.promptTokens);
  if (!id) {
    answer.error = id.message();
    return sink.finished(index, answer);
  }
  answer.mostTokens = options.maxTokens;
  open.emplace(*id, Open{index, std::move(answer),
                         AnswerText(*folder.tokenizer, options)});
  return Status::ok();
}

Expected<RequestId> BatchAnswers::trySubmit(const Prompt& prompt,
                                            SamplingOptions& options,
                                            int64_t& length) {
  Expected<std::vector<int32_t>> ids = tokens.of(prompt.content, now);
  RECIPERUN_TRY(ids);
  length = int64_t(ids->size());
  Expected<SamplingOptions> made = samplingOptionsOf(
      prompt.sampling, folder.path, *folder.tokenizer, engine.vocab());
  RECIPERUN_TRY(made);
  options = *std::move(made);
  Request request{.prompt = *std::move(ids), .sampling = options};
  request.adapter = prompt.adapter.value_or("");
  if (masks)
    request.constraint =
        std::make_shared<GrammarConstraint>(masks, folder.endTokens);
  return engine.submit(std::move(request));
}

Status BatchAnswers::step(AnswerSink& sink) {
  Expected<std::vector<Progress>> all = engine.step();
  RECIPERUN_TRY(all);
  for (const Progress& progress : *all)
    RECIPERUN_TRY(take(progress, sink));
  sink.stepped(engine.statistics());
  return Status::ok();
}

Status BatchAnswers::take(const Progress& progress, AnswerSink& sink) {
  auto found = open.find(progress.request);
  if (found == open.end())
    return Status::ok();
  Open& request = found->second;
  auto show = [&](const std::string& piece) {
    request.answer.text += piece;
    if (!piece.empty())
      sink.piece(request.prompt, piece);
  };
  request.answer.scoredPrompt.insert(request.answer.scoredPrompt.end(),
                                     progress.scoredPrompt.begin(),
                                     progress.scoredPrompt.end());
  for (const SampledToken& token : progress.tokens) {
    if (request.decoder.stopString())
      break;
    request.answer.tokens.push_back(token);
    show(request.decoder.next(token.id));
  }
  const bool isStopped = request.decoder.stopString().has_value();
  if (isStopped && !progress.finished && !request.isCancelled) {
    engine.cancel(progress.request, FinishReason::stopString);
    request.isCancelled = true;
  }
  if (!progress.finished)
    return Status::ok();
  show(request.decoder.finish());
  request.answer.reason =
      isStopped ? FinishReason::stopString : *progress.finished;
  request.answer.error = progress.error;
  const Status done = sink.finished(request.prompt, request.answer);
  open.erase(found);
  return done;
}

} // namespace reciperun::serve
