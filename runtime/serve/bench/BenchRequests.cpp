// Reads a row, its prompt and its number of tokens; draws random ids.

#include "runtime/serve/bench/BenchRequests.h"

#include "runtime/base/ParseJson.h"
#include "runtime/data/LineReader.h"
#include "runtime/data/Random.h"

#include <nlohmann/json.hpp>

namespace reciperun::serve {
namespace {

using RowJson = nlohmann::json;

/// The streams of random ids.
enum Stream : uint64_t { measuredStream = 1, warmupStream = 2 };

Expected<std::vector<int32_t>> idsOfRow(const RowJson& list, int64_t vocab) {
  if (!list.is_array())
    return Status::error("`input_ids` is of type " +
                         std::string(list.type_name()) +
                         ", and not a list of token ids");
  std::vector<int32_t> ids;
  for (const RowJson& id : list) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= uint64_t(vocab))
      return Status::error(
          "`input_ids[" + std::to_string(ids.size()) + "]` is " + id.dump() +
          ", but the model's ids are 0 to " + std::to_string(vocab - 1));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

Expected<std::vector<int32_t>> promptOfRow(const RowJson& row,
                                           const data::Tokenizer* tokenizer,
                                           int64_t vocab) {
  const bool hasText = row.contains("prompt"),
             hasIds = row.contains("input_ids");
  if (hasText == hasIds)
    return Status::error("a row needs `prompt` or `input_ids`, and has " +
                         std::string(hasText ? "both; leave one of them out"
                                             : "neither; add one"));
  if (hasIds)
    return idsOfRow(row["input_ids"], vocab);
  if (!row["prompt"].is_string())
    return Status::error("`prompt` is of type " +
                         std::string(row["prompt"].type_name()) +
                         ", and not a text");
  if (!tokenizer)
    return Status::error("the row has a `prompt`, but the model's folder has "
                         "no `tokenizer.json`; give `input_ids`");
  return tokenizer->encode(row["prompt"].get<std::string>(),
                           /*addSpecial=*/true);
}

/// "`prompt`, `completion`".
std::string fieldsOf(const RowJson& row) {
  std::string fields;
  for (const auto& [name, value] : row.items())
    fields += (fields.empty() ? "`" : ", `") + name + "`";
  return fields;
}

Expected<BenchRequest> requestOfRow(std::string_view line,
                                    const data::Tokenizer* tokenizer,
                                    int64_t vocab) {
  Expected<RowJson> row = parseJson(line, {.noun = "line"});
  RECIPERUN_TRY(row);
  if (!row->is_object())
    return Status::error("the line is of type " +
                         std::string(row->type_name()) +
                         ", and not an object; write `{\"prompt\": \"...\", "
                         "\"output_tokens\": 128}`, say");
  Expected<std::vector<int32_t>> prompt = promptOfRow(*row, tokenizer, vocab);
  RECIPERUN_TRY(prompt);
  if (prompt->empty())
    return Status::error("the prompt has no token; write a text");
  if (!row->contains("output_tokens"))
    return Status::error("the line has no field `output_tokens`, the length of "
                         "the answer; its fields are " +
                         fieldsOf(*row) +
                         "; add `\"output_tokens\": 128`, say");
  const RowJson& count = (*row)["output_tokens"];
  if (!count.is_number_unsigned() || count.get<uint64_t>() < 1 ||
      count.get<uint64_t>() > INT32_MAX)
    return Status::error("`output_tokens` is " + count.dump() +
                         ", but must be a whole number, at least 1");
  return BenchRequest{*std::move(prompt), count.get<int64_t>()};
}

std::vector<int32_t> randomIds(int64_t count, int64_t vocab,
                               data::Random& random) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids)
    id = int32_t(random.below(uint64_t(vocab)));
  return ids;
}

} // namespace

Expected<std::vector<BenchRequest>>
readBenchRequests(const std::string& path, int64_t most,
                  const data::Tokenizer* tokenizer, int64_t vocab) {
  const std::string place = "`" + path + "`";
  Expected<InputFile> file = InputFile::open(path);
  RECIPERUN_TRY(file);
  data::LineReader reader(*std::move(file));
  std::vector<BenchRequest> requests;
  std::string line;
  for (int64_t number = 1; int64_t(requests.size()) < most; ++number) {
    Expected<bool> isRead = reader.next(line);
    RECIPERUN_TRY(isRead.status().withContext(place));
    if (!*isRead)
      break;
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    Expected<BenchRequest> request = requestOfRow(line, tokenizer, vocab);
    RECIPERUN_TRY(request.status().withContext(place + ": line " +
                                               std::to_string(number)));
    requests.push_back(*std::move(request));
  }
  if (requests.empty())
    return Status::error(place + " has no request; a line is an object with "
                                 "`prompt` or `input_ids`, and "
                                 "`output_tokens`");
  return requests;
}

std::vector<BenchRequest> randomBenchRequests(int64_t count,
                                              int64_t inputTokens,
                                              int64_t outputTokens,
                                              int64_t vocab, uint64_t seed) {
  data::Random random({seed, measuredStream});
  std::vector<BenchRequest> requests;
  for (int64_t i = 0; i < count; ++i)
    requests.push_back({randomIds(inputTokens, vocab, random), outputTokens});
  return requests;
}

std::vector<BenchRequest>
warmupRequests(const std::vector<BenchRequest>& requests, int64_t count,
               int64_t vocab, uint64_t seed) {
  data::Random random({seed, warmupStream});
  std::vector<BenchRequest> result;
  for (int64_t i = 0; i < count; ++i) {
    const BenchRequest& like = requests[size_t(i) % requests.size()];
    result.push_back({randomIds(int64_t(like.prompt.size()), vocab, random),
                      like.outputTokens});
  }
  return result;
}

} // namespace reciperun::serve
