// The token model of EngineModels.h.

#include "runtime/server/backends/EngineCalls.h"
#include "runtime/server/backends/EngineModels.h"
#include "runtime/server/backends/RequestFields.h"
#include "runtime/server/backends/SamplingInputs.h"
#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace reciperun::server {
namespace {

using serve::FinishReason;
using serve::SampledToken;

using Sequences = std::vector<std::vector<int32_t>>;

/// The words of a word list, [2, n]: the first row has the ids of all words one
/// after the other, the second row the end of each word, then -1.
Expected<Sequences> wordList(const std::string& name,
                             const std::vector<int64_t>& values) {
  const size_t count = values.size() / 2;
  Sequences words;
  int64_t begin = 0;
  for (size_t i = 0; i < count && values[count + i] >= 0; ++i) {
    const int64_t end = values[count + i];
    if (end < begin || end > int64_t(count))
      return Status::error("`" + name + "` has an offset out of its range",
                           StatusCode::invalidArgument);
    if (end > begin)
      words.emplace_back(values.begin() + begin, values.begin() + end);
    begin = end;
  }
  return words;
}

bool endsWith(const std::vector<int32_t>& ids,
              const std::vector<int32_t>& word) {
  return word.size() <= ids.size() &&
         std::equal(word.rbegin(), word.rend(), ids.rbegin());
}

/// Whether `output_ids` are [beams, tokens], as in TensorRT-LLM's repository;
/// some of its documents have [tokens].
bool hasBeamDimension(const inference::ModelConfig& config) {
  return std::ranges::none_of(config.output(), [](const auto& output) {
    return output.name() == "output_ids" && output.dims_size() == 1;
  });
}

/// A request while it is answered.
struct TokenAnswer {
  Ticket ticket = 0;
  std::vector<int32_t> prompt; // to send with the answer; empty: not
  std::vector<int32_t> ids;    // of the answer
  std::vector<float> logprobs;
  size_t sent = 0; // of `ids`
  Sequences stopWords;
  int64_t promptTokens = 0;
  TokenCounts tokens; // since the last response
  bool streams = false;
  bool reportsLogprobs = false, reportsInput = false, reportsOutput = false;
  bool hasEnded = false;
};

class TokenModel : public StreamBackend {
public:
  TokenModel(const inference::ModelConfig& config, const ServedEngine& engine,
             bool excludesInput)
      : engine(engine), batches(config.max_batch_size() > 0),
        streams(config.model_transaction_policy().decoupled()),
        excludesInput(excludesInput), hasBeams(hasBeamDimension(config)),
        seeds(std::random_device()()) {}

  void start(std::shared_ptr<Inference> inference) override {
    if (const Status begun = begin(inference); !begun.isOk())
      inference->fail(begun);
  }
  Status health() const override { return healthOf(engine); }

private:
  Status begin(const std::shared_ptr<Inference>& inference);
  void stopOthers(Inference& inference);
  Expected<std::vector<int32_t>> promptOf(RequestFields& fields) const;
  Expected<serve::SamplingOptions> optionsOf(RequestFields& fields,
                                             TokenAnswer& answer);
  void take(Inference& inference, TokenAnswer& answer,
            const serve::Progress& progress) const;
  void respond(Inference& inference, TokenAnswer& answer) const;
  void addLogprobs(InferResponse& response, const TokenAnswer& answer,
                   size_t from) const;

  ServedEngine engine;
  bool batches, streams, excludesInput;
  bool hasBeams; // a dimension of `output_ids`, 1
  std::mt19937_64 seeds;
  std::multimap<std::string, std::weak_ptr<Inference>> open; // by id
};

Status TokenModel::begin(const std::shared_ptr<Inference>& inference) {
  RequestFields fields(inference->request);
  if (fields.flag("stop").value_or(false)) {
    stopOthers(*inference);
    return Status::ok();
  }
  auto answer = std::make_shared<TokenAnswer>();
  auto prompt = promptOf(fields);
  RECIPERUN_TRY(prompt);
  auto options = optionsOf(fields, *answer);
  if (!options)
    return Status::error(options.message(), StatusCode::invalidArgument);
  answer->streams = fields.flag("streaming").value_or(false);
  answer->reportsInput = fields.flag("return_num_input_tokens").value_or(false);
  answer->reportsOutput =
      fields.flag("return_num_output_tokens").value_or(false);
  const bool excludes =
      fields.flag("exclude_input_in_output").value_or(excludesInput);
  RECIPERUN_TRY(fields.status());
  RECIPERUN_TRY(fields.checkAllRead());
  if (answer->streams && !streams)
    return Status::error("Streaming is only supported if model is deployed "
                         "using decoupled mode.",
                         StatusCode::invalidArgument);
  answer->promptTokens = answer->tokens.prompt = int64_t(prompt->size());
  if (!excludes && !answer->streams)
    answer->prompt = *prompt;
  const std::string& id = inference->request.id;
  std::erase_if(open, [](const auto& each) { return each.second.expired(); });
  if (!id.empty())
    open.emplace(id, inference);
  answer->ticket =
      submitFor(inference, engine,
                {.prompt = *std::move(prompt), .sampling = *std::move(options)},
                [this, inference, answer](const serve::Progress& progress) {
                  take(*inference, *answer, progress);
                });
  return Status::ok();
}

/// Ends the requests with the id of this one.
void TokenModel::stopOthers(Inference& inference) {
  const auto [first, last] = open.equal_range(inference.request.id);
  std::vector<std::shared_ptr<Inference>> others;
  for (auto each = first; each != last; ++each)
    if (auto other = each->second.lock())
      others.push_back(std::move(other));
  for (const auto& other : others)
    other->cancel();
  InferResponse none;
  none.isEmpty = true;
  inference.respond(std::move(none));
}

/// The ids of the prompt, without padding.
Expected<std::vector<int32_t>>
TokenModel::promptOf(RequestFields& fields) const {
  const std::vector<int64_t> ids = fields.integers("input_ids");
  const auto length = fields.integer("input_lengths");
  RECIPERUN_TRY(fields.status());
  if (ids.empty())
    return Status::error("`input_ids` must have at least one token",
                         StatusCode::invalidArgument);
  if (length && (*length < 1 || *length > int64_t(ids.size())))
    return Status::error("`input_lengths` is " + std::to_string(*length) +
                             ", but `input_ids` has " +
                             std::to_string(ids.size()) + " tokens",
                         StatusCode::invalidArgument);
  return std::vector<int32_t>(
      ids.begin(), ids.begin() + length.value_or(int64_t(ids.size())));
}

Expected<serve::SamplingOptions> TokenModel::optionsOf(RequestFields& fields,
                                                       TokenAnswer& answer) {
  auto sampling = readSampling(InputNames::tokens, fields);
  RECIPERUN_TRY(sampling);
  if (!fields.integer("seed") && !fields.integer("random_seed"))
    sampling->seed = seeds();
  if (!sampling->maxTokens)
    sampling->maxTokens = engine.model.limits().maxOutput;
  auto options = serve::samplingOptionsOf(
      *sampling, engine.folder(), engine.model.tokenizer(), engine.model.vocab);
  RECIPERUN_TRY(options);
  auto stops = wordList("stop_words_list", fields.integers("stop_words_list"));
  RECIPERUN_TRY(stops);
  auto bad = wordList("bad_words_list", fields.integers("bad_words_list"));
  RECIPERUN_TRY(bad);
  options->badWords = *std::move(bad);
  for (std::vector<int32_t>& word : *stops)
    if (word.size() == 1)
      options->stopTokens.push_back(word[0]);
    else
      answer.stopWords.push_back(std::move(word));
  if (const auto end = fields.integer("end_id"); end && *end >= 0)
    options->stopTokens.push_back(int32_t(*end));
  fields.integer("pad_id"); // answers are not padded
  const std::vector<double> bias = fields.numbers("embedding_bias");
  for (size_t i = 0; i < bias.size(); ++i)
    if (bias[i] != 0)
      options->logitBias.emplace_back(int32_t(i), float(bias[i]));
  answer.reportsLogprobs = options->logprobs >= 0;
  RECIPERUN_TRY(serve::validate(*options, engine.model.vocab));
  return options;
}

void TokenModel::take(Inference& inference, TokenAnswer& answer,
                      const serve::Progress& progress) const {
  if (answer.hasEnded)
    return;
  for (const SampledToken& token : progress.tokens) {
    answer.ids.push_back(token.id);
    ++answer.tokens.answer;
    answer.logprobs.push_back(token.logprob);
    answer.hasEnded =
        std::ranges::any_of(answer.stopWords, [&](const auto& word) {
          return endsWith(answer.ids, word);
        });
    if (answer.hasEnded)
      break;
  }
  if (answer.hasEnded)
    engine.client.cancel(answer.ticket, FinishReason::stopString);
  answer.hasEnded = answer.hasEnded || progress.finished.has_value();
  if (answer.hasEnded || (answer.streams && answer.ids.size() > answer.sent))
    respond(inference, answer);
}

/// Sends what an answer has since its last response.
void TokenModel::respond(Inference& inference, TokenAnswer& answer) const {
  std::vector<int32_t> ids;
  if (answer.sent == 0)
    ids = answer.prompt;
  const size_t from = std::exchange(answer.sent, answer.ids.size());
  ids.insert(ids.end(), answer.ids.begin() + ptrdiff_t(from), answer.ids.end());
  const auto length = int64_t(ids.size());
  InferResponse response;
  response.isLast = answer.hasEnded;
  response.tokens = std::exchange(answer.tokens, {});
  response.outputs.push_back(
      idsTensor("output_ids",
                shapeFor(batches, hasBeams ? std::vector<int64_t>{1, length}
                                           : std::vector<int64_t>{length}),
                ids));
  response.outputs.push_back(
      idsTensor("sequence_length", shapeFor(batches, {1}), {int32_t(length)}));
  if (answer.reportsLogprobs)
    addLogprobs(response, answer, from);
  if (answer.reportsInput)
    response.outputs.push_back(idsTensor("num_input_tokens",
                                         shapeFor(batches, {1}),
                                         {int32_t(answer.promptTokens)}));
  if (answer.reportsOutput)
    response.outputs.push_back(idsTensor("num_output_tokens",
                                         shapeFor(batches, {1}),
                                         {int32_t(answer.ids.size())}));
  inference.respond(std::move(response));
}

void TokenModel::addLogprobs(InferResponse& response, const TokenAnswer& answer,
                             size_t from) const {
  float sum = 0;
  for (const float each : answer.logprobs)
    sum += each;
  const std::vector<float> news(answer.logprobs.begin() + ptrdiff_t(from),
                                answer.logprobs.end());
  response.outputs.push_back(
      floatsTensor("cum_log_probs", shapeFor(batches, {1}), {sum}));
  response.outputs.push_back(floatsTensor(
      "output_log_probs", shapeFor(batches, {1, int64_t(news.size())}), news));
}

} // namespace

std::unique_ptr<StreamBackend>
makeTokenModel(const inference::ModelConfig& config, const ServedEngine& engine,
               bool excludesInput) {
  return std::make_unique<TokenModel>(config, engine, excludesInput);
}

} // namespace reciperun::server
