// See ChatSession.h.

#include "runtime/serve/commands/ChatSession.h"

#include "runtime/serve/sampling/AnswerText.h"

#include <ctime>

namespace reciperun::serve {

void ChatSession::setSystem(std::string text) {
  system = std::move(text);
  reset();
}

Status ChatSession::setAdapter(std::string name) {
  RECIPERUN_TRY(engine.checkAdapter(name));
  adapter = std::move(name);
  return Status::ok();
}

void ChatSession::reset() {
  input.messages = nlohmann::ordered_json::array();
  if (!system.empty())
    addMessage(input, "system", system);
}

Expected<FinishReason> ChatSession::answer(const std::string& message,
                                           const Listener& listener) {
  addMessage(input, "user", message);
  const auto forget = [&](const Status& failure) {
    input.messages.erase(input.messages.size() - 1);
    return failure;
  };
  Expected<std::vector<int32_t>> ids = prompts.of(input, std::time(nullptr));
  if (!ids)
    return forget(ids.status());
  SamplingOptions options = sampling;
  options.seed += turns++;
  Expected<RequestId> request = engine.submit(
      {.prompt = *std::move(ids), .sampling = options, .adapter = adapter});
  if (!request)
    return forget(request.status());
  std::string text;
  Expected<FinishReason> reason = run(*request, options, listener, text);
  if (!reason)
    return forget(reason.status());
  addMessage(input, "assistant", text);
  return reason;
}

/// Runs the engine until the request ends.
Expected<FinishReason> ChatSession::run(RequestId request,
                                        const SamplingOptions& options,
                                        const Listener& listener,
                                        std::string& text) {
  AnswerText decoder(tokenizer, options);
  const auto show = [&](const std::string& piece) {
    text += piece;
    if (!piece.empty())
      listener.piece(piece);
  };
  bool isCancelled = false;
  const auto cancel = [&](FinishReason reason) {
    engine.cancel(request, reason);
    isCancelled = true;
  };
  while (!engine.isIdle()) {
    if (!isCancelled && listener.isStopped())
      cancel(FinishReason::cancelled);
    Expected<std::vector<Progress>> all = engine.step();
    RECIPERUN_TRY(all);
    for (const Progress& progress : *all) {
      if (progress.request != request)
        continue;
      for (const SampledToken& token : progress.tokens)
        if (!isCancelled)
          show(decoder.next(token.id));
      if (!isCancelled && decoder.stopString())
        cancel(FinishReason::stopString);
      if (progress.finished == FinishReason::failed)
        return Status::error(progress.error);
      if (progress.finished) {
        show(decoder.finish());
        return decoder.stopString() ? FinishReason::stopString
                                    : *progress.finished;
      }
    }
  }
  return Status::error("the engine ended without an answer");
}

} // namespace reciperun::serve
