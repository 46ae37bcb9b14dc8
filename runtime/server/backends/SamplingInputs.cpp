// See SamplingInputs.h.

#include "runtime/server/backends/SamplingInputs.h"

#include <optional>
#include <string>

namespace reciperun::server {
namespace {

/// The first of two names that is given.
template <class T>
std::optional<T> firstOf(std::optional<T> first, std::optional<T> second) {
  return first ? first : second;
}

Status refuseSeveral(RequestFields& fields) {
  for (const char* name : {"beam_width", "num_return_sequences"})
    if (const auto count = fields.integer(name); count && *count > 1)
      return Status::error("`" + std::string(name) + "` is " +
                               std::to_string(*count) +
                               "; this server gives one answer to a request, "
                               "without beams",
                           StatusCode::unsupported);
  return Status::ok();
}

} // namespace

Expected<serve::SamplingArguments> readSampling(InputNames names,
                                                RequestFields& fields) {
  const bool ofTokens = names == InputNames::tokens;
  serve::SamplingArguments made;
  made.maxTokens =
      fields.integer(ofTokens ? "request_output_len" : "max_tokens");
  made.temperature = fields.number("temperature");
  made.topK = fields.integer(ofTokens ? "runtime_top_k" : "top_k");
  made.topP = fields.number(ofTokens ? "runtime_top_p" : "top_p");
  made.minP = fields.number("min_p");
  made.repetitionPenalty = fields.number("repetition_penalty");
  made.presencePenalty = fields.number("presence_penalty");
  made.frequencyPenalty = fields.number("frequency_penalty");
  made.minTokens =
      firstOf(fields.integer("min_tokens"), fields.integer("min_length"));
  if (const auto seed =
          firstOf(fields.integer("seed"), fields.integer("random_seed")))
    made.seed = uint64_t(*seed);
  if (fields.flag("return_log_probs").value_or(false))
    made.logprobs = 0;
  RECIPERUN_TRY(refuseSeveral(fields));
  RECIPERUN_TRY(fields.status());
  // TensorRT-LLM's 0 stands for "not set".
  if (made.topP == 0)
    made.topP.reset();
  return made;
}

} // namespace reciperun::server
