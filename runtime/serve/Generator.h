// Answers prompts with an exported model, on one rank.
//
// The folder has the weights and the tokenizer, and either generate.plan.json
// or a config.json from which `recipec` compiles it. The prompt is processed in
// the plan's widest bucket until the rest fits a narrower one (prefill). Then
// each token is a separate step. Keys and values stay in the plan's KV cache.

#ifndef RECIPERUN_SERVE_GENERATOR_H
#define RECIPERUN_SERVE_GENERATOR_H

#include "runtime/comm/LocalCommunicator.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::serve {

struct GenerateOptions {
  int64_t maxTokens = 256;
  double temperature = 0; // 0: always the likeliest token
  uint64_t seed = 0;
};

/// The reason why an answer ends.
enum class Stop {
  endToken,   // the model generated an end token
  tokenLimit, // maxTokens
  cacheFull,  // prompt and answer fill the plan's KV cache
};

struct Answer {
  std::string text;
  std::vector<int32_t> ids; // without the end token
  Stop stop = Stop::endToken;
};

/// The model's predictions after each of some tokens.
struct Logits {
  int64_t tokens = 0;
  int64_t vocab = 0;
  std::vector<float> values; // [tokens, vocab]
};

class Generator {
public:
  /// The plan of a folder, or one that is compiled for it. Fails where there is
  /// none and none can be compiled, and where it is not for one rank.
  static Expected<plan::Plan> readPlan(const std::filesystem::path& directory);

  /// Loads a folder by its plan. Fails where the plan is for a device that is
  /// not there, or weights or tokenizer do not fit it. A missing tokenizer is
  /// no failure: `logits` needs none.
  static Expected<std::unique_ptr<Generator>>
  open(const std::filesystem::path& directory, plan::Plan plan, int threads);

  /// The same by the plan that readPlan gives.
  static Expected<std::unique_ptr<Generator>>
  open(const std::filesystem::path& directory, int threads);

  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Receives the next piece of the text, well-formed UTF-8.
  using TextSink = std::function<void(std::string_view piece)>;

  /// Answers one prompt, formatted as in the training data (data.chat).
  /// Independent of earlier prompts. Fails when the prompt has no token or does
  /// not fit the cache.
  Expected<Answer> answer(const std::string& prompt,
                          const GenerateOptions& options,
                          const TextSink& sink = {});

  /// The logits after each of `ids`, the first of which starts the sequence.
  Expected<Logits> logits(std::span<const int32_t> ids);

  const plan::Plan& plan() const { return program; }
  /// Whether each token is computed together with all tokens before it, because
  /// the model has states that the plan does not keep between calls.
  bool recomputes() const { return program.buckets[0].inputs.segments >= 0; }

private:
  explicit Generator(plan::Plan plan) : program(std::move(plan)) {}

  Status load(const std::filesystem::path& directory, int threads);
  void restart() {
    position = 0;
    entered.clear();
  }
  Status checkIds(std::span<const int32_t> ids) const;
  Status enter(std::span<const int32_t> ids, Logits* all);
  Status step(const plan::Bucket& bucket, std::span<const int32_t> ids);
  const plan::Bucket& bucketFor(int64_t tokens) const;
  Status appendRows(const plan::Bucket& bucket, int64_t rows,
                    Logits& out) const;
  Status takeLast(const plan::Bucket& bucket, int64_t row);
  Status readLogits(const plan::Bucket& bucket, int64_t row,
                    std::span<float> out) const;

  plan::Plan program;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<comm::Communicator> communicator;
  memory::Arena arena;
  std::optional<exec::Executor> executor;
  std::optional<data::Tokenizer> tokenizer;
  std::set<int32_t> endTokens;
  int64_t position = 0;         // tokens in the cache
  std::vector<int32_t> entered; // all tokens, if recomputed
  std::vector<float> last;      // logits after the last token
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_GENERATOR_H
