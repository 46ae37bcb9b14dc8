// The postprocessing of TokenizerModels.h.

#include "runtime/server/backends/RequestFields.h"
#include "runtime/server/backends/TokenizerModels.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

class Postprocessing : public BatchBackend {
public:
  Postprocessing(data::Tokenizer tokenizer, bool skipsSpecialTokens)
      : tokenizer(std::move(tokenizer)),
        skipsSpecialTokens(skipsSpecialTokens) {}

  std::vector<Answer>
  execute(std::span<const InferRequest* const> batch) override {
    std::vector<Answer> answers;
    for (const InferRequest* request : batch)
      answers.push_back(answer(*request));
    return answers;
  }

private:
  Answer answer(const InferRequest& request) const;
  std::string decode(std::span<const int64_t> ids) const;

  data::Tokenizer tokenizer;
  bool skipsSpecialTokens;
};

BatchBackend::Answer Postprocessing::answer(const InferRequest& request) const {
  const Tensor* const tokens = findInput(request, "TOKENS_BATCH");
  if (!tokens || tokens->shape.empty())
    return Status::error("`TOKENS_BATCH` is missing",
                         StatusCode::invalidArgument);
  RequestFields fields(request);
  const std::vector<int64_t> ids = fields.integers("TOKENS_BATCH");
  const std::vector<int64_t> lengths = fields.integers("SEQUENCE_LENGTH");
  RECIPERUN_TRY(fields.status());
  const auto width = size_t(tokens->shape.back());
  const size_t rows = width > 0 ? ids.size() / width : lengths.size();
  std::string data;
  for (size_t row = 0; row < rows; ++row) {
    const size_t length =
        row < lengths.size()
            ? size_t(std::clamp<int64_t>(lengths[row], 0, int64_t(width)))
            : width;
    appendBytes(data, decode(std::span(ids).subspan(row * width, length)));
  }
  std::vector<int64_t> shape(tokens->shape.begin(), tokens->shape.end() - 1);
  return std::vector<Tensor>{{.name = "OUTPUT",
                              .type = DataType::bytes,
                              .shape = std::move(shape),
                              .data = std::move(data)}};
}

std::string Postprocessing::decode(std::span<const int64_t> ids) const {
  std::vector<int32_t> known;
  for (const int64_t id : ids)
    if (id >= 0 && id < tokenizer.size())
      known.push_back(int32_t(id));
  return tokenizer.decode(known, skipsSpecialTokens);
}

} // namespace

std::unique_ptr<BatchBackend> makePostprocessing(data::Tokenizer tokenizer,
                                                 bool skipsSpecialTokens) {
  return std::make_unique<Postprocessing>(std::move(tokenizer),
                                          skipsSpecialTokens);
}

} // namespace reciperun::server
