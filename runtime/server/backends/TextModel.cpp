// The text model of EngineModels.h.
//
// Stop strings are found in the text, so that a stop word ends an answer
// however it is split into tokens, and text that may begin one is held back.

#include "runtime/server/backends/EngineCalls.h"
#include "runtime/server/backends/EngineModels.h"
#include "runtime/server/backends/RequestFields.h"
#include "runtime/server/backends/SamplingInputs.h"
#include "runtime/server/config/model_config.pb.h"

#include "runtime/serve/sampling/AnswerText.h"

#include <random>
#include <string>
#include <utility>

namespace reciperun::server {
namespace {

using serve::FinishReason;
using serve::SampledToken;

/// The words of an input that is one text or a list of texts; empty ones do not
/// count.
std::vector<std::string> wordsOf(RequestFields& fields,
                                 const std::string& name) {
  std::vector<std::string> words = fields.texts(name);
  std::erase(words, "");
  return words;
}

/// A request while it is answered.
struct TextAnswer {
  TextAnswer(serve::AnswerText decoder, std::string begin)
      : decoder(std::move(decoder)), text(std::move(begin)) {}

  Ticket ticket = 0;
  serve::AnswerText decoder;
  bool streams = false;
  bool reportsLogprobs = false;
  // Since the last response:
  std::string text;
  std::vector<float> logprobs;
  TokenCounts tokens;
  float sumOfLogprobs = 0; // of the answer
  bool hasEnded = false;
};

class TextModel : public StreamBackend {
public:
  TextModel(const inference::ModelConfig& config, const ServedEngine& engine,
            bool excludesInput)
      : engine(engine), batches(config.max_batch_size() > 0),
        streams(config.model_transaction_policy().decoupled()),
        excludesInput(excludesInput), seeds(std::random_device()()) {}

  void start(std::shared_ptr<Inference> inference) override {
    if (const Status begun = begin(inference); !begun.isOk())
      inference->fail(begun);
  }
  Status health() const override { return healthOf(engine); }

private:
  Status begin(const std::shared_ptr<Inference>& inference);
  Expected<serve::Request> requestOf(RequestFields& fields,
                                     const std::string& text);
  void take(Inference& inference, TextAnswer& answer,
            const serve::Progress& progress) const;
  void respond(Inference& inference, TextAnswer& answer) const;

  ServedEngine engine;
  bool batches, streams, excludesInput;
  std::mt19937_64 seeds;
};

Status TextModel::begin(const std::shared_ptr<Inference>& inference) {
  RequestFields fields(inference->request);
  const auto text = fields.text("text_input");
  RECIPERUN_TRY(fields.status());
  if (!text)
    return Status::error("`text_input` must be one text",
                         StatusCode::invalidArgument);
  Expected<serve::Request> request = requestOf(fields, *text);
  if (!request)
    return Status::error(request.message(), StatusCode::invalidArgument);
  const bool asksStream = fields.flag("stream").value_or(false);
  const bool excludes =
      fields.flag("exclude_input_in_output").value_or(excludesInput) ||
      asksStream;
  RECIPERUN_TRY(fields.status());
  RECIPERUN_TRY(fields.checkAllRead());
  if (asksStream && !streams)
    return Status::error("`stream` needs a model whose configuration has "
                         "model_transaction_policy { decoupled: true }",
                         StatusCode::invalidArgument);
  auto answer = std::make_shared<TextAnswer>(
      serve::AnswerText(engine.model.tokenizer(), request->sampling),
      excludes ? "" : *text);
  answer->streams = asksStream;
  answer->reportsLogprobs = request->sampling.logprobs >= 0;
  answer->tokens.prompt = int64_t(request->prompt.size());
  answer->ticket =
      submitFor(inference, engine, *std::move(request),
                [this, inference, answer](const serve::Progress& progress) {
                  take(*inference, *answer, progress);
                });
  return Status::ok();
}

Expected<serve::Request> TextModel::requestOf(RequestFields& fields,
                                              const std::string& text) {
  auto sampling = readSampling(InputNames::text, fields);
  RECIPERUN_TRY(sampling);
  sampling->stopStrings = wordsOf(fields, "stop_words");
  sampling->badWords = wordsOf(fields, "bad_words");
  if (!fields.integer("seed") && !fields.integer("random_seed"))
    sampling->seed = seeds();
  if (!sampling->maxTokens)
    sampling->maxTokens = engine.model.limits().maxOutput;
  auto options = serve::samplingOptionsOf(
      *sampling, engine.folder(), engine.model.tokenizer(), engine.model.vocab);
  RECIPERUN_TRY(options);
  auto ids = engine.model.prompts.ofText(text);
  RECIPERUN_TRY(ids);
  if (const auto end = fields.integer("end_id"); end && *end >= 0)
    options->stopTokens.push_back(int32_t(*end));
  fields.integer("pad_id"); // answers are not padded
  serve::Request request{.prompt = *std::move(ids),
                         .sampling = *std::move(options)};
  if (const auto adapter = fields.text("adapter"))
    request.adapter = *adapter;
  return request;
}

void TextModel::take(Inference& inference, TextAnswer& answer,
                     const serve::Progress& progress) const {
  if (answer.hasEnded)
    return;
  for (const SampledToken& token : progress.tokens) {
    answer.text += answer.decoder.next(token.id);
    ++answer.tokens.answer;
    answer.logprobs.push_back(token.logprob);
    answer.sumOfLogprobs += token.logprob;
    answer.hasEnded = answer.decoder.stopString().has_value();
    if (answer.hasEnded)
      break;
  }
  if (answer.hasEnded)
    engine.client.cancel(answer.ticket, FinishReason::stopString);
  if (progress.finished) {
    answer.text += answer.decoder.finish();
    answer.hasEnded = true;
  }
  if (answer.hasEnded || (answer.streams && !answer.text.empty()))
    respond(inference, answer);
}

/// Sends what an answer has since its last response.
void TextModel::respond(Inference& inference, TextAnswer& answer) const {
  std::string data;
  appendBytes(data, answer.text);
  InferResponse response;
  response.isLast = answer.hasEnded;
  response.tokens = std::exchange(answer.tokens, {});
  response.outputs.push_back({.name = "text_output",
                              .type = DataType::bytes,
                              .shape = shapeFor(batches, {1}),
                              .data = std::move(data)});
  if (answer.reportsLogprobs) {
    response.outputs.push_back(floatsTensor(
        "cum_log_probs", shapeFor(batches, {1}), {answer.sumOfLogprobs}));
    response.outputs.push_back(
        floatsTensor("output_log_probs",
                     shapeFor(batches, {1, int64_t(answer.logprobs.size())}),
                     answer.logprobs));
  }
  answer.text.clear();
  answer.logprobs.clear();
  inference.respond(std::move(response));
}

void addInput(inference::ModelConfig& config, const char* name,
              inference::DataType type, int64_t size, bool isOptional = true) {
  inference::ModelInput& input = *config.add_input();
  input.set_name(name);
  input.set_data_type(type);
  input.add_dims(size);
  input.set_optional(isOptional);
}

void addOutput(inference::ModelConfig& config, const char* name,
               inference::DataType type, std::initializer_list<int64_t> dims) {
  inference::ModelOutput& output = *config.add_output();
  output.set_name(name);
  output.set_data_type(type);
  output.mutable_dims()->Add(dims.begin(), dims.end());
}

} // namespace

std::unique_ptr<StreamBackend>
makeTextModel(const inference::ModelConfig& config, const ServedEngine& engine,
              bool excludesInput) {
  return std::make_unique<TextModel>(config, engine, excludesInput);
}

std::shared_ptr<const inference::ModelConfig>
textModelConfig(const std::string& name) {
  using namespace inference;
  auto config = std::make_shared<ModelConfig>();
  config->set_name(name);
  config->set_backend("recipec");
  config->mutable_version_policy()->mutable_latest()->set_num_versions(1);
  config->mutable_model_transaction_policy()->set_decoupled(true);
  addInput(*config, "text_input", TYPE_STRING, 1, /*isOptional=*/false);
  for (const char* name : {"max_tokens", "min_tokens", "top_k", "end_id"})
    addInput(*config, name, TYPE_INT32, 1);
  for (const char* name :
       {"temperature", "top_p", "min_p", "repetition_penalty",
        "presence_penalty", "frequency_penalty"})
    addInput(*config, name, TYPE_FP32, 1);
  addInput(*config, "seed", TYPE_UINT64, 1);
  for (const char* name : {"stop_words", "bad_words"})
    addInput(*config, name, TYPE_STRING, -1);
  for (const char* name :
       {"stream", "return_log_probs", "exclude_input_in_output"})
    addInput(*config, name, TYPE_BOOL, 1);
  addInput(*config, "adapter", TYPE_STRING, 1);
  addOutput(*config, "text_output", TYPE_STRING, {1});
  addOutput(*config, "cum_log_probs", TYPE_FP32, {1});
  addOutput(*config, "output_log_probs", TYPE_FP32, {1, -1});
  return config;
}

} // namespace reciperun::server
