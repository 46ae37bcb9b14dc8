// Translates requests and progress.

#include "runtime/serve/bench/EngineTarget.h"

namespace reciperun::serve {

Expected<int64_t> EngineTarget::submit(const BenchRequest& request) {
  const plan::Serving& limits = engine.limits();
  const int64_t length = int64_t(request.prompt.size()) + request.outputTokens;
  if (request.outputTokens > limits.maxOutput || length > limits.maxTokens)
    return Status::error(
        "a request of " + std::to_string(request.prompt.size()) +
        " input and " + std::to_string(request.outputTokens) +
        " output tokens exceeds the plan's `serve.max_output` = " +
        std::to_string(limits.maxOutput) +
        " or `data.sequence` = " + std::to_string(limits.maxTokens) +
        "; compile the plan with larger ones, or ask for fewer tokens");
  sampling.maxTokens = request.outputTokens;
  sampling.seed = requests;
  const std::string adapter =
      adapters.empty() ? "" : adapters[requests % adapters.size()];
  ++requests;
  return engine.submit(
      {.prompt = request.prompt, .sampling = sampling, .adapter = adapter});
}

Expected<std::vector<BenchTarget::Event>> EngineTarget::step() {
  const Expected<std::vector<Progress>> progress = engine.step();
  RECIPERUN_TRY(progress);
  std::vector<Event> events;
  for (const Progress& each : *progress)
    events.push_back({.request = each.request,
                      .tokens = int64_t(each.tokens.size()),
                      .isFinished = each.finished.has_value(),
                      .error = each.error});
  return events;
}

} // namespace reciperun::serve
