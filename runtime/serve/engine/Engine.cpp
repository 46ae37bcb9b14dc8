// A step: 1. get a plan from the scheduler; 2. run the model; 3. for each part
// that wants rows, choose the next tokens and decide whether the answer ends;
// 4. tell the scheduler. With a pipeline, later steps are underway meanwhile.

#include "runtime/serve/engine/Engine.h"

#include "runtime/device/cpu/Parallel.h"
#include "runtime/serve/engine/PromptLogits.h"

#include <algorithm>
#include <utility>

namespace reciperun::serve {

const char* nameOf(FinishReason reason) {
  switch (reason) {
  case FinishReason::endToken:
    return "end_token";
  case FinishReason::stopString:
    return "stop_string";
  case FinishReason::stopToken:
    return "stop_token";
  case FinishReason::tokenLimit:
    return "token_limit";
  case FinishReason::cacheFull:
    return "cache_full";
  case FinishReason::timeout:
    return "timeout";
  case FinishReason::cancelled:
    return "cancelled";
  case FinishReason::failed:
    return "failed";
  }
  return "";
}

Engine::Engine(std::unique_ptr<StepModel> model, const plan::Serving& limits,
               std::set<int32_t> endTokens, std::unique_ptr<DraftSource> drafts,
               Clock clock)
    : model(std::move(model)), drafts(std::move(drafts)), bounds(limits),
      endTokens(std::move(endTokens)), clock(std::move(clock)),
      scheduler(limits, this->model->depth(), Scheduler::defaultPatience,
                this->drafts.get()) {
  results.logits.resize(
      size_t(limits.buckets.back().rows * this->model->vocab()));
  countState();
}

Status Engine::addAdapter(const std::string& name,
                          const std::filesystem::path& directory) {
  if (bounds.adapters == 0)
    return Status::error("the plan serves no adapters; compile it again, by "
                         "`recipec plan DIR --set serve.adapters=1 -o "
                         "DIR/generate.plan.json` for the model's folder DIR");
  if (name.empty() || adapters.contains(name))
    return Status::error((name.empty()
                              ? "an adapter has no name"
                              : "there is an adapter `" + name + "` already") +
                         std::string("; give each a name of its own"));
  const AdapterId id = scheduler.adapters().add();
  const Status status = model->addAdapter(id, directory);
  if (status.isOk())
    adapters.emplace(name, id);
  else
    scheduler.adapters().remove(id);
  return status;
}

Status Engine::removeAdapter(const std::string& name) {
  const Expected<AdapterId> id = findAdapter(name);
  RECIPERUN_TRY(id);
  adapters.erase(name);
  scheduler.adapters().remove(*id);
  return freeAdapters();
}

/// Frees the removed adapters whose last request has ended.
Status Engine::freeAdapters() {
  for (AdapterId id : scheduler.adapters().takeRemoved())
    RECIPERUN_TRY(model->removeAdapter(id));
  return Status::ok();
}

Expected<AdapterId> Engine::findAdapter(const std::string& name) const {
  if (name.empty())
    return noAdapter;
  if (const auto found = adapters.find(name); found != adapters.end())
    return found->second;
  std::string known;
  for (const auto& [each, id] : adapters)
    known += (known.empty() ? "`" : ", `") + each + "`";
  return Status::error("there is no adapter `" + name + "`; " +
                       (known.empty() ? "add it with `--adapter NAME=FOLDER`"
                                      : "those that there are: " + known));
}

Expected<RequestId> Engine::submit(Request request) {
  RECIPERUN_TRY(checkIds(request.prompt, model->vocab()));
  if (request.embeds && model->hiddenWidth() == 0)
    return Status::error("the model has no embeddings: no norm precedes the "
                         "matmul to its vocabulary");
  const Expected<AdapterId> adapter = findAdapter(request.adapter);
  RECIPERUN_TRY(adapter);
  SamplingOptions& options = request.sampling;
  RECIPERUN_TRY(validate(options, model->vocab()));
  Answer answer{Sampler(options, model->vocab(), request.prompt, endTokens),
                {options.stopTokens.begin(), options.stopTokens.end()},
                options.ignoreEndTokens,
                std::min(options.maxTokens, bounds.maxOutput),
                /*tokens=*/0,
                std::move(request.constraint),
                options.promptLogprobs};
  answer.embeds = request.embeds;
  Expected<RequestId> id = scheduler.submit(
      std::move(request.prompt), options.maxTokens, request.priority,
      options.promptLogprobs >= 0, *adapter, request.cacheSalt);
  RECIPERUN_TRY(id);
  answers.emplace(*id, std::move(answer));
  if (options.timeout)
    deadlines.emplace(clock() +
                          std::chrono::duration_cast<Time::duration>(
                              std::chrono::duration<double>(*options.timeout)),
                      *id);
  ++counts.submitted;
  countState();
  return id;
}

void Engine::cancel(RequestId request, FinishReason reason) {
  const auto found = answers.find(request);
  if (found == answers.end())
    return;
  ended.push_back(
      {.request = request,
       .finished = reason,
       .course = courseOf(found->second, *scheduler.find(request))});
  scheduler.cancel(request);
  answers.erase(found);
  ++(reason == FinishReason::cancelled ? counts.cancelled : counts.finished);
  countState();
}

void Engine::endLate() {
  if (deadlines.empty())
    return;
  const Time now = clock();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    cancel(deadlines.begin()->second, FinishReason::timeout);
    deadlines.erase(deadlines.begin());
  }
}

Expected<std::vector<Progress>> Engine::step() {
  RECIPERUN_TRY(broken);
  endLate();
  std::vector<Progress> all = std::exchange(ended, {});
  broken = startSteps();
  RECIPERUN_TRY(broken);
  if (!underway.empty()) {
    broken = finishStep(all);
    RECIPERUN_TRY(broken);
  }
  broken = freeAdapters();
  RECIPERUN_TRY(broken);
  countState();
  return all;
}

Status Engine::startSteps() {
  while (int(underway.size()) < model->depth()) {
    std::optional<StepPlan> step = scheduler.next();
    if (drafts)
      RECIPERUN_TRY(drafts->status());
    if (!step)
      return Status::ok();
    const Time now = clock();
    for (StepPart& part : step->parts) {
      Answer& answer = answers.at(part.request);
      if (answer.started == Time())
        answer.started = now;
      if (!answer.constraint)
        part.draw = answer.sampler.draw();
      part.wantsHidden = answer.embeds && part.rows > 0;
    }
    RECIPERUN_TRY(model->start(*step));
    underway.push_back(*std::move(step));
  }
  return Status::ok();
}

Status Engine::finishStep(std::vector<Progress>& all) {
  RECIPERUN_TRY(model->finish(results));
  std::vector<Choice> choices = choicesOf(underway.front());
  chooseTokens(choices);
  std::vector<StepOutcome> outcomes;
  int64_t tokens = 0;
  bool hasAnswers = false;
  for (Choice& choice : choices) {
    if (!choice.answer) {
      outcomes.push_back({.request = choice.part->request, .ends = true});
      continue;
    }
    all.push_back({.request = choice.part->request});
    hasAnswers = true;
    tokens += countTokens(choice);
    outcomes.push_back(take(std::move(choice), all.back()));
  }
  if (hasAnswers)
    counts.stepTokens.add(tokens);
  scheduler.finish(outcomes);
  underway.pop_front();
  return Status::ok();
}

std::vector<Engine::Choice> Engine::choicesOf(const StepPlan& step) {
  std::vector<Choice> choices;
  int64_t rows = 0;
  for (const StepPart& part : step.parts) {
    if (part.rows == 0)
      continue;
    const auto found = answers.find(part.request);
    choices.push_back(
        {.part = &part,
         .sequence = scheduler.find(part.request),
         .answer = found == answers.end() ? nullptr : &found->second,
         .row = rows});
    rows += part.rows;
  }
  return choices;
}

std::span<float> Engine::logitsOf(int64_t row) {
  return results.logitsOf(row, /*rows=*/1, model->vocab());
}

/// Chooses tokens, with one thread per answer: samplers and constraints are
/// independent of other answers.
void Engine::chooseTokens(std::vector<Choice>& choices) {
  const auto count = int64_t(choices.size());
  const bool areChosen = std::ranges::all_of(choices, [](const Choice& each) {
    return each.part->draw.has_value(); // by the model
  });
  const int threads =
      areChosen ? 1 : int(std::clamp<int64_t>(count, 1, model->threads()));
  device::parallelItems(threads, count, [&](int64_t index, int) {
    chooseTokens(choices[size_t(index)]);
  });
}

/// Chooses the token after each token of the part that wants one, and stops
/// where the draft was wrong.
void Engine::chooseTokens(Choice& choice) {
  if (!choice.answer)
    return;
  choice.failure = scorePrompt(choice);
  if (!choice.failure.isOk())
    return;
  const int64_t row = choice.row + choice.part->promptRows;
  const auto ids = choice.part->ids.last(
      size_t(choice.part->rows - choice.part->promptRows));
  for (size_t i = 0; i < ids.size() && !choice.finished; ++i) {
    if (i > 0 && choice.tokens.back().id != ids[i])
      return;
    Expected<SampledToken> token = nextToken(choice, row + int64_t(i));
    choice.failure = token.status();
    if (!token)
      return;
    choice.tokens.push_back(*std::move(token));
    choice.finished = reasonFor(choice);
  }
}

/// Computes the log probabilities of the prompt tokens that follow the part's
/// tokens. Skips those that were reported before a preemption.
Status Engine::scorePrompt(Choice& choice) {
  const StepPart& part = *choice.part;
  if (part.promptRows == 0)
    return Status::ok();
  const Answer& answer = *choice.answer;
  const std::vector<int32_t>& tokens = choice.sequence->tokens;
  Logprobs logprobs(answer.promptLogprobs);
  kernels::LogitBlocks blocks;
  for (int64_t i = std::max<int64_t>(0, answer.scoredTokens - part.position);
       i < part.promptRows; ++i) {
    const auto row = logitsOf(choice.row + i);
    const Status finite = logprobs.measure(row, blocks);
    choice.isFinite = finite.isOk();
    RECIPERUN_TRY(finite);
    choice.scoredPrompt.push_back(
        logprobs.of(tokens[size_t(part.position + i + 1)], row));
  }
  return Status::ok();
}

Expected<SampledToken> Engine::nextToken(Choice& choice, int64_t row) {
  Answer& answer = *choice.answer;
  if (choice.part->draw) {
    const int32_t token = results.chosen[size_t(row)];
    choice.isFinite = token >= 0;
    if (!choice.isFinite)
      return noChosen();
    return answer.sampler.append(token);
  }
  const Status finite = checkFinite(logitsOf(row));
  choice.isFinite = finite.isOk();
  RECIPERUN_TRY(finite);
  return answer.sampler.next(logitsOf(row), answer.constraint.get());
}

/// Adds the chosen tokens to their answer.
StepOutcome Engine::take(Choice choice, Progress& progress) {
  Answer& answer = *choice.answer;
  StepOutcome outcome{.request = choice.part->request};
  outcome.isInvalid = !choice.isFinite;
  progress.finished = choice.finished;
  progress.course = courseOf(answer, *choice.sequence);
  if (choice.endsByToken()) {
    progress.endedBy = choice.tokens.back().id;
    choice.tokens.pop_back(); // no part of the answer
  }
  if (choice.part->wantsHidden && choice.isFinite) {
    const auto hidden = results.hiddenOf(choice.row + choice.part->rows - 1,
                                         /*rows=*/1, model->hiddenWidth());
    progress.embedding.assign(hidden.begin(), hidden.end());
  }
  for (const SampledToken& token : choice.tokens)
    outcome.tokens.push_back(token.id);
  answer.tokens += int64_t(choice.tokens.size());
  answer.scoredTokens += int64_t(choice.scoredPrompt.size());
  progress.scoredPrompt = std::move(choice.scoredPrompt);
  progress.tokens = std::move(choice.tokens);
  if (!choice.failure.isOk()) {
    progress.finished = FinishReason::failed;
    progress.error = choice.failure.message();
  }
  outcome.ends = progress.finished.has_value();
  if (!outcome.ends)
    return outcome;
  ++(choice.failure.isOk() ? counts.finished : counts.failed);
  answers.erase(choice.part->request);
  return outcome;
}

/// The number of tokens that a step adds to an answer. The answer's first
/// tokens also count the tokens of the prompt.
int64_t Engine::countTokens(const Choice& choice) {
  Answer& answer = *choice.answer;
  auto tokens = int64_t(choice.tokens.size());
  if (tokens > 0 && !std::exchange(answer.hasBegun, true))
    tokens += choice.sequence->promptTokens;
  return tokens - (choice.endsByToken() ? 1 : 0);
}

RequestCourse Engine::courseOf(const Answer& answer, const Sequence& sequence) {
  return {.started = answer.started,
          .preemptions = sequence.preemptions,
          .cachedTokens = sequence.foundTokens};
}

/// Why the answer ends with the last chosen token; nullopt when it goes on.
std::optional<FinishReason> Engine::reasonFor(const Choice& choice) const {
  const Answer& answer = *choice.answer;
  const int32_t token = choice.tokens.back().id;
  const auto chosen = int64_t(choice.tokens.size());
  if (answer.embeds || (!answer.ignoresEndTokens && endTokens.contains(token)))
    return FinishReason::endToken;
  if (answer.stopTokens.contains(token))
    return FinishReason::stopToken;
  if (answer.tokens + chosen >= answer.mostTokens)
    return FinishReason::tokenLimit;
  const Sequence& sequence = *choice.sequence;
  if (sequence.length() + chosen >= sequence.mostTokens)
    return FinishReason::cacheFull;
  return std::nullopt;
}

void Engine::countState() {
  counts.scheduler = scheduler.statistics();
  counts.running = int64_t(scheduler.running());
  counts.waiting = int64_t(scheduler.waiting());
  counts.waitingForAdapter = scheduler.waitingForAdapter();
  counts.lastStep = scheduler.lastStep();
  counts.pages = scheduler.pages().size();
  counts.heldPages = scheduler.pages().held();
  counts.evictedPages = scheduler.pages().evictions();
}

} // namespace reciperun::serve
