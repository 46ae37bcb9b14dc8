// A resumed file is first reduced to the rows that are kept, under a temporary
// name. The rows that follow are appended.

#include "runtime/serve/commands/AnswerRows.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace reciperun::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t mostFileBytes = int64_t(1) << 33;

/// The name and the value with which a row repeats its prompt.
std::pair<const char*, Json> contentOf(const Prompt& prompt) {
  if (const auto* text = std::get_if<std::string>(&prompt.content))
    return {"prompt", *text};
  if (const auto* chat = std::get_if<ChatInput>(&prompt.content))
    return {"messages", chat->messages};
  return {"input_ids", std::get<std::vector<int32_t>>(prompt.content)};
}

void addLogprobs(const std::vector<SampledToken>& tokens, Json& list) {
  for (const SampledToken& token : tokens) {
    Json top = Json::array();
    for (const auto& [id, logprob] : token.top)
      top.push_back({{"id", id}, {"logprob", logprob}});
    list.push_back({{"id", token.id},
                    {"logprob", token.logprob},
                    {"top", std::move(top)}});
  }
}

std::string lineOf(const Json& row) {
  return row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The index of the prompt that a row answers; fails when the row is of another
/// prompt.
Expected<size_t> answeredPrompt(const Json& row,
                                std::span<const Prompt> prompts) {
  if (!row.is_object() || !row.contains("index") ||
      !row["index"].is_number_unsigned())
    return Status::error("the row has no `index`, so that it is no answer");
  const uint64_t index = row["index"].get<uint64_t>();
  if (index >= prompts.size())
    return Status::error("the row answers prompt " + std::to_string(index) +
                         ", and there are " + std::to_string(prompts.size()));
  const auto [name, content] = contentOf(prompts[size_t(index)]);
  if (row.value(name, Json()) != content)
    return Status::error("the row answers another prompt than prompt " +
                         std::to_string(index) + " of this call");
  return size_t(index);
}

/// The index of the prompt that a line answers; nullopt for a row with an
/// error, whose prompt is answered again.
Expected<std::optional<size_t>> keptPrompt(std::string_view line,
                                           std::span<const Prompt> prompts) {
  const Expected<Json> row = parseOrderedJson(line, {.noun = "line"});
  RECIPERUN_TRY(row);
  const Expected<size_t> prompt = answeredPrompt(*row, prompts);
  RECIPERUN_TRY(prompt);
  return row->contains("error") ? std::nullopt : std::optional(*prompt);
}

Status writeFailure(const std::string& path) {
  return Status::error("cannot write `" + path + "`: " + std::strerror(errno));
}

} // namespace

std::string answerRow(const Prompt& prompt, const size_t* index,
                      const Answer& answer) {
  Json row = Json::object();
  if (index)
    row["index"] = *index;
  if (!prompt.id.empty())
    row["id"] = Json::parse(prompt.id, nullptr, /*allow_exceptions=*/false);
  auto [name, content] = contentOf(prompt);
  row[name] = std::move(content);
  if (prompt.sampling.n > 1)
    row["sample"] = prompt.sample;
  if (answer.reason == FinishReason::failed) {
    row["error"] = answer.error;
    return lineOf(row);
  }
  row["answer"] = answer.text;
  row["tokens"] = answer.tokens.size();
  row["stop"] = nameOf(answer.reason);
  if (prompt.sampling.logprobs >= 0)
    addLogprobs(answer.tokens, row["logprobs"] = Json::array());
  if (prompt.sampling.promptLogprobs >= 0) // none of the first token
    addLogprobs(answer.scoredPrompt,
                row["prompt_logprobs"] = Json::array({nullptr}));
  return lineOf(row);
}

Expected<AnswerFile> AnswerFile::open(const std::string& path,
                                      Existing existing,
                                      std::span<const Prompt> prompts) {
  AnswerFile file(path);
  file.answered.resize(prompts.size());
  RECIPERUN_TRY(checkpoint::checkListable(fs::path(path).parent_path()));
  if (isFolder(path))
    return Status::error("`" + path + "` is a folder; name a file in it");
  const bool exists = !isAbsent(path);
  if (exists && existing == Existing::refuse)
    return Status::error("`" + path +
                         "` is there; go on with its answers by `--resume`, "
                         "replace it by `--force`, or choose another file");
  if (!exists)
    existing = Existing::replace;
  RECIPERUN_TRY(isAddress(path) ? file.openRemote(existing, prompts)
                                : file.openLocal(existing, prompts));
  return file;
}

Status AnswerFile::openLocal(Existing existing,
                             std::span<const Prompt> prompts) {
  if (existing != Existing::resume)
    return openStream("we");
  const Expected<std::string> kept = keepAnswers(prompts);
  RECIPERUN_TRY(kept);
  std::error_code code;
  if (fs::file_size(path, code) != kept->size())
    RECIPERUN_TRY(checkpoint::writeTextFile(path, *kept));
  return openStream("ae");
}

/// An object is never appended to: it is written anew with the rows that are
/// kept.
Status AnswerFile::openRemote(Existing existing,
                              std::span<const Prompt> prompts) {
  const Expected<std::string> kept = existing == Existing::resume
                                         ? keepAnswers(prompts)
                                         : Expected<std::string>("");
  RECIPERUN_TRY(kept);
  RECIPERUN_TRY(checkpoint::checkRemoteWrites(fs::path(path).parent_path()));
  auto output = checkpoint::OutputFile::create(path);
  RECIPERUN_TRY(output);
  remote.emplace(*std::move(output));
  return remote->append(std::as_bytes(std::span(*kept)));
}

size_t AnswerFile::answers() const {
  return size_t(std::count(answered.begin(), answered.end(), true));
}

Status AnswerFile::openStream(const char* mode) {
  stream.reset(std::fopen(path.c_str(), mode));
  return stream ? Status::ok() : writeFailure(path);
}

Expected<std::string> AnswerFile::keepAnswers(std::span<const Prompt> prompts) {
  const Expected<std::string> text = readTextFile(path, mostFileBytes);
  RECIPERUN_TRY(text);
  std::string kept;
  std::string_view rest = *text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    if (end == rest.npos)
      break; // the row was being written when the program ended
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const Expected<std::optional<size_t>> prompt = keptPrompt(line, prompts);
    RECIPERUN_TRY(
        prompt.status()
            .withContext("line " + std::to_string(number))
            .withContext("`" + path + "`")
            .withRemedy("`--resume` goes on with the answers to these "
                        "prompts: name their file, or replace this "
                        "one by `--force`"));
    if (!*prompt || answered[**prompt])
      continue;
    answered[**prompt] = true;
    kept += line;
    kept += '\n';
  }
  return kept;
}

Status AnswerFile::write(const Prompt& prompt, size_t index,
                         const Answer& answer) {
  const std::string line = answerRow(prompt, &index, answer);
  if (remote)
    return remote->append(std::as_bytes(std::span(line)));
  if (std::fwrite(line.data(), 1, line.size(), stream.get()) != line.size() ||
      std::fflush(stream.get()) != 0)
    return writeFailure(path);
  return Status::ok();
}

Status AnswerFile::close() {
  if (remote)
    return remote->commit();
  return std::fclose(stream.release()) == 0 ? Status::ok() : writeFailure(path);
}

} // namespace reciperun::serve
