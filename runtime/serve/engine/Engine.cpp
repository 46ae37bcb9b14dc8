// A step: 1. the scheduler's plan; 2. the model; 3. for each part that wants
// it, the next token and whether the answer ends; 4. back to the scheduler.

#include "runtime/serve/engine/Engine.h"

#include "runtime/device/cpu/Parallel.h"
#include "runtime/serve/engine/PromptLogits.h"

#include <algorithm>
#include <functional>
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
  case FinishReason::cancelled:
    return "cancelled";
  case FinishReason::failed:
    return "failed";
  }
  return "";
}

Engine::Engine(std::unique_ptr<StepModel> model, const plan::Serving& limits,
               std::set<int32_t> endTokens)
    : model(std::move(model)), bounds(limits), endTokens(std::move(endTokens)),
      scheduler(limits) {
  logits.resize(size_t(limits.buckets.back().rows * this->model->vocab()));
  countState();
}

Expected<RequestId> Engine::submit(Request request) {
  RECIPERUN_TRY(checkIds(request.prompt, model->vocab()));
  SamplingOptions& options = request.sampling;
  RECIPERUN_TRY(validate(options, model->vocab()));
  Answer answer{Sampler(options, model->vocab(), request.prompt, endTokens),
                {options.stopTokens.begin(), options.stopTokens.end()},
                options.ignoreEndTokens,
                std::min(options.maxTokens, bounds.maxOutput),
                /*tokens=*/0,
                std::move(request.constraint)};
  Expected<RequestId> id = scheduler.submit(
      std::move(request.prompt), options.maxTokens, request.priority);
  RECIPERUN_TRY(id);
  answers.emplace(*id, std::move(answer));
  ++counts.submitted;
  countState();
  return id;
}

void Engine::cancel(RequestId request, FinishReason reason) {
  if (!scheduler.cancel(request))
    return;
  answers.erase(request);
  ++(reason == FinishReason::cancelled ? counts.cancelled : counts.finished);
  ended.push_back({.request = request, .finished = reason});
  countState();
}

Expected<std::vector<Progress>> Engine::step() {
  RECIPERUN_TRY(broken);
  std::vector<Progress> all = std::exchange(ended, {});
  if (std::optional<StepPlan> step = scheduler.next()) {
    broken = runStep(*step, all);
    RECIPERUN_TRY(broken);
  }
  countState();
  return all;
}

Status Engine::runStep(const StepPlan& step, std::vector<Progress>& all) {
  RECIPERUN_TRY(model->run(step));
  std::vector<Choice> choices = choicesOf(step);
  RECIPERUN_TRY(takeLikeliest(step, choices));
  RECIPERUN_TRY(readLogits(choices));
  chooseTokens(choices);
  std::vector<StepOutcome> outcomes;
  for (Choice& choice : choices) {
    all.push_back({.request = choice.part->request});
    outcomes.push_back(take(std::move(choice), all.back()));
  }
  scheduler.finish(outcomes);
  return Status::ok();
}

std::vector<Engine::Choice> Engine::choicesOf(const StepPlan& step) {
  std::vector<Choice> choices;
  int64_t rows = 0;
  for (const StepPart& part : step.parts) {
    rows += part.rows;
    if (part.rows == 0)
      continue;
    Answer& answer = answers.at(part.request);
    choices.push_back(
        {.part = &part,
         .answer = &answer,
         .row = rows - 1,
         .needsLogits = answer.constraint || !answer.sampler.takesLikeliest()});
  }
  return choices;
}

/// Takes the tokens that the model has chosen, where an answer wants no others.
/// The logits of a row that are not finite are needed to say so.
Status Engine::takeLikeliest(const StepPlan& step,
                             std::vector<Choice>& choices) {
  if (std::ranges::all_of(choices, &Choice::needsLogits))
    return Status::ok();
  likeliest.resize(size_t(step.rows));
  RECIPERUN_TRY(model->readLikeliest(likeliest));
  for (Choice& choice : choices) {
    const int32_t id = likeliest[size_t(choice.row)];
    if (choice.needsLogits)
      continue;
    if (id < 0)
      choice.needsLogits = true;
    else
      choice.token.emplace(choice.answer->sampler.append(id));
  }
  return Status::ok();
}

/// Reads the logits that are needed, consecutive rows at once.
Status Engine::readLogits(const std::vector<Choice>& choices) {
  for (auto at = choices.begin(); at != choices.end();) {
    at = std::find_if(at, choices.end(), std::mem_fn(&Choice::needsLogits));
    const auto first = at;
    while (at != choices.end() && at->needsLogits &&
           at->row - first->row == at - first)
      ++at;
    if (at != first)
      RECIPERUN_TRY(
          model->readRows(first->row, logitsOf(first->row, at - first)));
  }
  return Status::ok();
}

std::span<float> Engine::logitsOf(int64_t row, int64_t rows) {
  const int64_t vocab = model->vocab();
  return std::span(logits).subspan(size_t(row * vocab), size_t(rows * vocab));
}

/// Chooses tokens by logits, one thread for each at a time: an answer's sampler
/// and constraint depend on no other answer.
void Engine::chooseTokens(std::vector<Choice>& choices) {
  auto choose = [&](int64_t index, int) {
    Choice& choice = choices[size_t(index)];
    if (!choice.needsLogits)
      return;
    const std::span<float> row = logitsOf(choice.row);
    choice.finite = checkFinite(row);
    if (choice.finite.isOk())
      choice.token.emplace(
          choice.answer->sampler.next(row, choice.answer->constraint.get()));
  };
  const int64_t count = int64_t(choices.size());
  device::parallelItems(int(std::clamp<int64_t>(count, 1, model->threads())),
                        count, choose);
}

/// Adds the chosen token to its answer.
StepOutcome Engine::take(Choice choice, Progress& progress) {
  const StepPart& part = *choice.part;
  Answer& answer = *choice.answer;
  StepOutcome outcome{.request = part.request};
  auto fail = [&](const Status& failure) {
    progress.finished = FinishReason::failed;
    progress.error = failure.message();
    ++counts.failed;
    answers.erase(part.request);
    outcome.ends = true;
    return outcome;
  };
  if (!choice.finite.isOk()) {
    outcome.isInvalid = true;
    return fail(choice.finite);
  }
  Expected<SampledToken>& next = *choice.token;
  if (!next)
    return fail(next.status());
  const int32_t token = next->id;
  progress.finished = reasonFor(answer, part.request, token);
  if (progress.finished != FinishReason::endToken &&
      progress.finished != FinishReason::stopToken) {
    progress.tokens.push_back(*std::move(next));
    outcome.token = token;
    ++answer.tokens;
  }
  if (progress.finished) {
    outcome.ends = true;
    ++counts.finished;
    answers.erase(part.request);
  }
  return outcome;
}

/// Why the answer ends with `token`; nullopt when it goes on.
std::optional<FinishReason> Engine::reasonFor(const Answer& answer,
                                              RequestId request,
                                              int32_t token) const {
  if (!answer.ignoresEndTokens && endTokens.contains(token))
    return FinishReason::endToken;
  if (answer.stopTokens.contains(token))
    return FinishReason::stopToken;
  if (answer.tokens + 1 >= answer.mostTokens)
    return FinishReason::tokenLimit;
  const Sequence& sequence = *scheduler.find(request);
  if (sequence.length() + 1 >= sequence.mostTokens)
    return FinishReason::cacheFull;
  return std::nullopt;
}

void Engine::countState() {
  counts.scheduler = scheduler.statistics();
  counts.running = int64_t(scheduler.running());
  counts.waiting = int64_t(scheduler.waiting());
  counts.pages = scheduler.pages().size();
  counts.heldPages = scheduler.pages().held();
  counts.evictedPages = scheduler.pages().evictions();
}

} // namespace reciperun::serve
