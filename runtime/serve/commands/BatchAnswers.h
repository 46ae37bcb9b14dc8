// Answers many prompts with one engine.

#ifndef RECIPERUN_SERVE_COMMANDS_BATCHANSWERS_H
#define RECIPERUN_SERVE_COMMANDS_BATCHANSWERS_H

#include "runtime/base/Status.h"
#include "runtime/grammar/MaskTable.h"
#include "runtime/serve/engine/Engine.h"
#include "runtime/serve/engine/ModelFolder.h"
#include "runtime/serve/prompts/PromptFile.h"
#include "runtime/serve/prompts/PromptTokens.h"
#include "runtime/serve/sampling/AnswerText.h"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::serve {

/// The answer to one prompt.
struct Answer {
  std::string text;
  std::vector<SampledToken> tokens;       // without the end token
  std::vector<SampledToken> scoredPrompt; // see Progress
  FinishReason reason = FinishReason::failed;
  std::string error;        // why there is no answer
  int64_t mostTokens = 0;   // that the request asked for
  int64_t promptTokens = 0; // the prompt's length
};

/// Receives answers. `prompt` is the index of a prompt.
class AnswerSink {
public:
  virtual ~AnswerSink() = default;
  /// The next piece of an answer's text, well-formed UTF-8.
  virtual void piece(size_t prompt, std::string_view text) = 0;
  /// The answer is complete. A failure ends all answers.
  virtual Status finished(size_t prompt, const Answer& answer) = 0;
  /// A step has ended.
  virtual void stepped(const EngineStatistics&) {}
};

class BatchAnswers {
public:
  /// The references must outlive the object. The folder must have a tokenizer.
  /// `grammar` constrains all answers, unless it is null.
  BatchAnswers(Engine& engine, const ModelFolder& folder,
               const PromptTokens& tokens,
               std::shared_ptr<grammar::MaskTable> grammar = {});

  /// Answers the prompts for which `isWanted` is true and passes the answers to
  /// `sink`, in an arbitrary but reproducible order. A prompt that cannot be
  /// answered gets an Answer with `error`. Returns after the step in progress
  /// when a stop signal has arrived (StopSignal.h). Fails when the device or
  /// the sink fails.
  Status run(std::span<const Prompt> prompts,
             const std::function<bool(size_t prompt)>& isWanted,
             AnswerSink& sink);

private:
  /// A prompt that was submitted to the engine.
  struct Open {
    size_t prompt;
    Answer answer;
    AnswerText decoder;
    bool isCancelled = false; // at a stop string
  };

  Status submit(const Prompt& prompt, size_t index, AnswerSink& sink);
  Expected<RequestId> trySubmit(const Prompt& prompt, SamplingOptions& options,
                                int64_t& length);
  Status step(AnswerSink& sink);
  Status take(const Progress& progress, AnswerSink& sink);

  Engine& engine;
  const ModelFolder& folder;
  const PromptTokens& tokens;
  std::shared_ptr<grammar::MaskTable> masks; // null without a grammar
  std::time_t now;                           // the same for all prompts
  std::map<RequestId, Open> open;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_BATCHANSWERS_H
