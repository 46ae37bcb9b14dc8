// The preprocessing of TokenizerModels.h.

#include "runtime/server/backends/EngineCalls.h"
#include "runtime/server/backends/RequestFields.h"
#include "runtime/server/backends/TokenizerModels.h"
#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

using Ids = std::vector<int32_t>;

/// Tensors of ids of different lengths as one, filled up with `fill`.
Tensor paddedIds(const std::string& name, const std::vector<Ids>& rows,
                 int32_t fill, bool batches) {
  size_t longest = 0;
  for (const Ids& row : rows)
    longest = std::max(longest, row.size());
  Ids all;
  for (Ids row : rows) {
    row.resize(longest, fill);
    all.insert(all.end(), row.begin(), row.end());
  }
  std::vector<int64_t> shape{int64_t(longest)};
  if (batches)
    shape.insert(shape.begin(), int64_t(rows.size()));
  return idsTensor(name, std::move(shape), all);
}

class Preprocessing : public BatchBackend {
public:
  Preprocessing(const inference::ModelConfig& config, data::Tokenizer tokenizer,
                const PreprocessingSettings& settings)
      : tokenizer(std::move(tokenizer)), settings(settings),
        batches(config.max_batch_size() > 0), declared(outputNames(config)) {}

  std::vector<Answer>
  execute(std::span<const InferRequest* const> batch) override {
    std::vector<Answer> answers;
    for (const InferRequest* request : batch)
      answers.push_back(answer(*request));
    return answers;
  }

private:
  Answer answer(const InferRequest& request);
  Expected<Tensor> wordList(const std::string& name, const Tensor* words,
                            size_t rows) const;
  Status addPassed(const InferRequest& request, size_t rows,
                   std::vector<Tensor>& outputs) const;
  Expected<Tensor> biasOf(const InferRequest& request, size_t rows) const;
  bool wants(const InferRequest& request, const std::string& output) const;

  data::Tokenizer tokenizer;
  PreprocessingSettings settings;
  bool batches;
  std::set<std::string> declared;
};

bool Preprocessing::wants(const InferRequest& request,
                          const std::string& output) const {
  return declared.contains(output) &&
         (request.outputs.empty() ||
          std::ranges::find(request.outputs, output, &RequestedOutput::name) !=
              request.outputs.end());
}

BatchBackend::Answer Preprocessing::answer(const InferRequest& request) {
  const Tensor* const query = findInput(request, "QUERY");
  const auto texts = query ? bytesElements(query->data)
                           : Expected<std::vector<std::string_view>>(
                                 Status::error("`QUERY` is missing"));
  RECIPERUN_TRY(texts);
  std::vector<Ids> rows;
  Ids lengths;
  for (const std::string_view text : *texts) {
    auto ids = tokenizer.encode(text, settings.addsSpecialTokens);
    RECIPERUN_TRY(ids);
    rows.push_back(*std::move(ids));
    lengths.push_back(int32_t(rows.back().size()));
  }
  std::vector<Tensor> outputs;
  outputs.push_back(
      paddedIds("INPUT_ID", rows, std::max(0, settings.endId), batches));
  outputs.push_back(
      idsTensor("REQUEST_INPUT_LEN",
                batches ? std::vector<int64_t>{int64_t(rows.size()), 1}
                        : std::vector<int64_t>{1},
                lengths));
  for (const auto& [input, output] :
       {std::pair("BAD_WORDS_DICT", "BAD_WORDS_IDS"),
        std::pair("STOP_WORDS_DICT", "STOP_WORDS_IDS")}) {
    const Tensor* const words = findInput(request, input);
    if (!words || !wants(request, output))
      continue;
    auto list = wordList(output, words, rows.size());
    RECIPERUN_TRY(list);
    outputs.push_back(*std::move(list));
  }
  RECIPERUN_TRY(addPassed(request, rows.size(), outputs));
  return outputs;
}

/// The ids of the words of each row, and the end of each word.
Expected<Tensor> Preprocessing::wordList(const std::string& name,
                                         const Tensor* words,
                                         size_t rows) const {
  const auto elements = bytesElements(words->data);
  RECIPERUN_TRY(elements);
  const size_t perRow = rows > 0 ? elements->size() / rows : 0;
  std::vector<Ids> ids(rows), ends(rows);
  for (size_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < perRow; ++i) {
      const std::string_view word = (*elements)[row * perRow + i];
      if (word.empty())
        continue;
      const auto encoded = tokenizer.encode(word, /*addSpecial=*/false);
      RECIPERUN_TRY(encoded);
      ids[row].insert(ids[row].end(), encoded->begin(), encoded->end());
      ends[row].push_back(int32_t(ids[row].size()));
    }
  size_t longest = 1;
  for (const Ids& row : ids)
    longest = std::max(longest, row.size());
  Ids all;
  for (size_t row = 0; row < rows; ++row) {
    ids[row].resize(longest, 0);
    ends[row].resize(longest, -1);
    all.insert(all.end(), ids[row].begin(), ids[row].end());
    all.insert(all.end(), ends[row].begin(), ends[row].end());
  }
  std::vector<int64_t> shape{2, int64_t(longest)};
  if (batches)
    shape.insert(shape.begin(), int64_t(rows));
  return idsTensor(name, std::move(shape), all);
}

/// Outputs that are inputs, or follow from the model.
Status Preprocessing::addPassed(const InferRequest& request, size_t rows,
                                std::vector<Tensor>& outputs) const {
  if (const Tensor* const length = findInput(request, "REQUEST_OUTPUT_LEN"))
    outputs.push_back(*length);
  const Ids ids(rows, settings.endId);
  const std::vector<int64_t> shape =
      batches ? std::vector<int64_t>{int64_t(rows), 1}
              : std::vector<int64_t>{1};
  for (const auto& [input, output] :
       {std::pair("END_ID", "OUT_END_ID"), std::pair("PAD_ID", "OUT_PAD_ID")}) {
    if (!wants(request, output))
      continue;
    if (const Tensor* const given = findInput(request, input)) {
      outputs.push_back(*given);
      outputs.back().name = output;
    } else if (settings.endId >= 0) {
      outputs.push_back(idsTensor(output, shape, ids));
    }
  }
  if (findInput(request, "EMBEDDING_BIAS_WORDS") &&
      wants(request, "EMBEDDING_BIAS")) {
    auto bias = biasOf(request, rows);
    RECIPERUN_TRY(bias);
    outputs.push_back(*std::move(bias));
  }
  return Status::ok();
}

/// [b, vocab]: the weight of each word for its tokens.
Expected<Tensor> Preprocessing::biasOf(const InferRequest& request,
                                       size_t rows) const {
  const auto words =
      bytesElements(findInput(request, "EMBEDDING_BIAS_WORDS")->data);
  RECIPERUN_TRY(words);
  const Tensor* const given = findInput(request, "EMBEDDING_BIAS_WEIGHTS");
  const auto weights = given ? numbersOf(*given) : std::vector<double>();
  RECIPERUN_TRY(weights);
  if (weights->size() != words->size())
    return Status::error(
        "`EMBEDDING_BIAS_WEIGHTS` must have a weight for each word",
        StatusCode::invalidArgument);
  const auto vocab = size_t(tokenizer.size());
  const size_t perRow = words->size() / std::max<size_t>(1, rows);
  std::vector<float> bias(rows * vocab, 0);
  for (size_t i = 0; i < perRow * rows; ++i) {
    const auto ids = tokenizer.encode((*words)[i], /*addSpecial=*/false);
    RECIPERUN_TRY(ids);
    for (const int32_t id : *ids)
      bias[i / perRow * vocab + size_t(id)] += float((*weights)[i]);
  }
  std::vector<int64_t> shape{int64_t(vocab)};
  if (batches)
    shape.insert(shape.begin(), int64_t(rows));
  return floatsTensor("EMBEDDING_BIAS", std::move(shape), bias);
}

} // namespace

std::set<std::string> outputNames(const inference::ModelConfig& config) {
  std::set<std::string> names;
  for (const inference::ModelOutput& output : config.output())
    names.insert(output.name());
  return names;
}

std::unique_ptr<BatchBackend>
makePreprocessing(const inference::ModelConfig& config,
                  data::Tokenizer tokenizer,
                  const PreprocessingSettings& settings) {
  return std::make_unique<Preprocessing>(config, std::move(tokenizer),
                                         settings);
}

} // namespace reciperun::server
