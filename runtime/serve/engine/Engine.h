// Answers many requests at once with one model.
//
// submit() queues a request. Each step() computes some tokens of many requests,
// as the Scheduler decides, and samples the next token of each request that has
// no pending tokens left. If a request's logits are not finite or its
// constraint fails, only that request ends. An engine belongs to one thread.
//
// The engine works on token ids. Its caller turns them into text and finds stop
// strings (AnswerText), and ends a request at a stop string with cancel().

#ifndef RECIPERUN_SERVE_ENGINE_ENGINE_H
#define RECIPERUN_SERVE_ENGINE_ENGINE_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/Scheduler.h"
#include "runtime/serve/engine/StepModel.h"
#include "runtime/serve/sampling/Sampler.h"
#include "runtime/serve/sampling/SamplingOptions.h"
#include "runtime/serve/sampling/TokenConstraint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace reciperun::serve {

/// The reason why an answer ends.
enum class FinishReason {
  endToken,   // the model generated an end token
  stopString, // of SamplingOptions
  stopToken,  // of SamplingOptions
  tokenLimit, // SamplingOptions::maxTokens, or the plan's maxOutput
  cacheFull,  // prompt and answer have the plan's maxTokens
  timeout,    // SamplingOptions::timeout has passed
  cancelled,
  failed, // see Progress::error
};

/// `end_token`, `stop_string`, `stop_token`, `token_limit`, `cache_full`,
/// `timeout`, `cancelled`, `failed`.
const char* nameOf(FinishReason reason);

struct Request {
  std::vector<int32_t> prompt;
  SamplingOptions sampling = {};
  int priority = 0; // higher is sooner
  /// The name of an adapter (addAdapter); empty: the model alone.
  std::string adapter = {};
  std::shared_ptr<TokenConstraint> constraint = {};
  /// Requests reuse each other's cached prefixes only if their salts are equal.
  /// With a salt per tenant, response times reveal nothing about the prompts of
  /// other tenants.
  std::string cacheSalt = {};
  /// The request ends after its prompt, with an embedding and no tokens.
  bool embeds = false;
};

/// What has happened to a request in the engine so far.
struct RequestCourse {
  /// When its first step began. The clock's epoch if the request ended while it
  /// waited.
  std::chrono::steady_clock::time_point started = {};
  int64_t preemptions = 0;
  int64_t cachedTokens = 0; // of the prompt, found in the prefix cache
};

/// What a step did for one request.
struct Progress {
  RequestId request = -1;
  /// The next tokens of the answer, without an end or stop token.
  std::vector<SampledToken> tokens = {};
  /// The next scored tokens of the prompt, from its second token on
  /// (SamplingOptions::promptLogprobs).
  std::vector<SampledToken> scoredPrompt = {};
  /// Set at the end of a request with `embeds`: the hidden state of the
  /// prompt's last token after the model's last norm.
  std::vector<float> embedding = {};
  std::optional<FinishReason> finished = {};
  /// The end token or stop token that ended the answer; -1: none did.
  int32_t endedBy = -1;
  std::string error = {}; // of a request that failed
  RequestCourse course = {};
};

/// A histogram of the tokens per step: tokens of answers, and prompt tokens,
/// which count in the step that completes the prompt.
struct StepTokens {
  static constexpr std::array<int64_t, 13> bounds = {
      1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

  std::array<int64_t, bounds.size() + 1> steps = {}; // by the least bound
  int64_t tokens = 0;

  void add(int64_t count) {
    ++steps[size_t(std::ranges::lower_bound(bounds, count) - bounds.begin())];
    tokens += count;
  }
};

/// Counts since the start, and the state after the last step.
struct EngineStatistics {
  SchedulerStatistics scheduler;
  StepCounts lastStep;
  StepTokens stepTokens; // of steps that gave rows to a request
  int64_t submitted = 0, finished = 0, cancelled = 0, failed = 0;
  int64_t running = 0, waiting = 0;
  int64_t waitingForAdapter = 0; // of those that wait
  int64_t pages = 0, heldPages = 0, evictedPages = 0;
};

class Engine {
public:
  using Time = std::chrono::steady_clock::time_point;
  using Clock = std::function<Time()>;

  /// `limits` are those of the model's plan. `drafts` makes drafts if
  /// `limits.draftTokens` is above 0; if it is null, n-grams do. Timeouts
  /// follow `clock`.
  Engine(std::unique_ptr<StepModel> model, const plan::Serving& limits,
         std::set<int32_t> endTokens,
         std::unique_ptr<DraftSource> drafts = nullptr,
         Clock clock = std::chrono::steady_clock::now);

  /// Adds a LoRA adapter in peft's layout, which requests may name from now on.
  /// Fails, with the remedy, when the plan serves no adapters, when the name is
  /// taken or empty, and when the adapter does not fit the model.
  Status addAdapter(const std::string& name,
                    const std::filesystem::path& directory);
  /// Removes an adapter. Requests that already name it are still answered.
  /// Fails when there is no such adapter.
  Status removeAdapter(const std::string& name);
  /// Fails when there is no such adapter; the message lists the adapters.
  Status checkAdapter(const std::string& name) const {
    return findAdapter(name).status();
  }

  /// Queues a request. Fails, with the numbers and the remedy, when the prompt
  /// has no token or too many, or an id outside the vocabulary, when
  /// sampling options are out of their ranges, and when there is no such
  /// adapter.
  Expected<RequestId> submit(Request request);

  /// Ends a request; the next step reports its end with `reason`. Does nothing
  /// when the request has ended.
  void cancel(RequestId request, FinishReason reason = FinishReason::cancelled);

  /// Ends the requests whose timeout has passed, waiting or running. Starts
  /// steps up to the model's depth, and finishes the first one. Returns the
  /// requests that got tokens or ended, in an arbitrary but reproducible order;
  /// nothing when idle. Fails when the device fails, as do all later steps.
  Expected<std::vector<Progress>> step();

  /// Whether step() would have nothing to do and nothing to report.
  bool isIdle() const { return scheduler.isIdle() && ended.empty(); }
  const EngineStatistics& statistics() const { return counts; }
  const plan::Serving& limits() const { return bounds; }
  /// The length of an embedding; 0: the model has none.
  int64_t embeddingWidth() const { return model->hiddenWidth(); }
  int64_t vocab() const { return model->vocab(); }

private:
  /// The engine's state of a request.
  struct Answer {
    Sampler sampler;
    std::set<int32_t> stopTokens;
    bool ignoresEndTokens = false;
    int64_t mostTokens = 0;
    int64_t tokens = 0;
    std::shared_ptr<TokenConstraint> constraint;
    int promptLogprobs = -1;  // of SamplingOptions
    int64_t scoredTokens = 0; // prompt tokens reported so far
    Time started = {};        // of RequestCourse
    bool hasBegun = false;    // has its first token
    bool embeds = false;
  };

  /// The tokens chosen after a part, or why there are none.
  struct Choice {
    const StepPart* part = nullptr;
    const Sequence* sequence = nullptr;
    Answer* answer = nullptr; // null when the request was cancelled
    int64_t row = 0;          // the part's first row in the results
    bool isFinite = true;
    std::vector<SampledToken> scoredPrompt = {};
    std::vector<SampledToken> tokens = {};
    std::optional<FinishReason> finished = {}; // set by the last token
    Status failure = {};

    /// Whether the last token ends the answer and is no part of it.
    bool endsByToken() const {
      return finished == FinishReason::endToken ||
             finished == FinishReason::stopToken;
    }
  };

  Expected<AdapterId> findAdapter(const std::string& name) const;
  Status freeAdapters();
  void endLate();
  Status startSteps();
  Status finishStep(std::vector<Progress>& all);
  std::vector<Choice> choicesOf(const StepPlan& step);
  void chooseTokens(std::vector<Choice>& choices);
  void chooseTokens(Choice& choice);
  Status scorePrompt(Choice& choice);
  Expected<SampledToken> nextToken(Choice& choice, int64_t row);
  std::span<float> logitsOf(int64_t row);
  static int64_t countTokens(const Choice& choice);
  StepOutcome take(Choice choice, Progress& progress);
  static RequestCourse courseOf(const Answer& answer, const Sequence& sequence);
  std::optional<FinishReason> reasonFor(const Choice& choice) const;
  void countState();

  std::unique_ptr<StepModel> model;
  std::unique_ptr<DraftSource> drafts; // or null
  plan::Serving bounds;
  std::set<int32_t> endTokens;
  Clock clock;
  Scheduler scheduler;
  std::map<std::string, AdapterId> adapters;
  std::unordered_map<RequestId, Answer> answers;
  std::multimap<Time, RequestId> deadlines; // also of ended requests
  std::vector<Progress> ended;              // since the last step
  std::deque<StepPlan> underway;
  StepResults results; // of the last step that finished
  Status broken;       // by a step
  EngineStatistics counts;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_ENGINE_H
