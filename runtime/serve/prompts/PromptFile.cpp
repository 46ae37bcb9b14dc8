// Reads a source, splits it into lines, and checks that each is UTF-8.

#include "runtime/serve/prompts/PromptFile.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/cli/Spelling.h"
#include "runtime/data/Conversion.h"
#include "runtime/data/Utf8.h"
#include "runtime/serve/prompts/SamplingFields.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

namespace reciperun::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Enough for a million prompts; limits the damage of a wrong file.
constexpr size_t maxBytes = size_t(256) << 20;

/// Reads instead of mapping, since the file may be a pipe.
Expected<std::string> readAll(const std::string& path) {
  if (isAddress(path))
    return readTextFile(path, int64_t(maxBytes));
  const bool isInput = path == "-";
  const std::string place = isInput ? "standard input" : "`" + path + "`";
  std::unique_ptr<FILE, int (*)(FILE*)> file(
      isInput ? stdin : std::fopen(path.c_str(), "rbe"),
      isInput ? [](FILE*) { return 0; } : std::fclose);
  auto failure = [&](const std::string& why) {
    return Status::error("cannot read the prompts of " + place + ": " + why);
  };
  if (!file)
    return failure(std::strerror(errno));
  std::string text;
  char chunk[1 << 16];
  while (size_t got = std::fread(chunk, 1, sizeof chunk, file.get())) {
    text.append(chunk, got);
    if (text.size() > maxBytes)
      return failure("there are more than " + std::to_string(maxBytes) +
                     " bytes");
  }
  if (std::ferror(file.get()))
    return failure(std::strerror(errno));
  return text;
}

Status checkUtf8(std::string_view text) {
  const size_t at = data::firstIllFormed(text);
  return at == std::string_view::npos
             ? Status::ok()
             : Status::error("the prompt is not UTF-8 at its byte " +
                             std::to_string(at + 1) +
                             "; write it in UTF-8, or convert its file by "
                             "`iconv`");
}

constexpr const char* contentFields[] = {"prompt", "messages", "input_ids"};

/// The fields of a row: "the object has `a` and `b`".
std::string fieldsOf(const OrderedJson& row) {
  constexpr size_t most = 8;
  std::vector<std::string> names;
  for (const auto& [name, value] : row.items())
    names.push_back(name);
  if (names.empty())
    return "the object is empty";
  if (names.size() > most)
    return "the object has " + std::to_string(names.size()) + " other fields";
  return "the object has " + cli::quotedList(names, "and");
}

/// The error for an object without a prompt.
Status noPrompt(const OrderedJson& row) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : row.items())
    if (value.is_string())
      texts.push_back(name);
  const bool isOne = texts.size() == 1;
  return Status::error(
      "none of the fields `prompt`, `messages` and `input_ids` is there; " +
      fieldsOf(row) +
      (isOne && row.size() == 1 ? ": call it `prompt`"
       : isOne                  ? ": call `" + texts[0] + "` `prompt`"
                                : ": call the text to answer `prompt`"));
}

Expected<PromptContent> idsOf(const OrderedJson& value) {
  std::vector<int32_t> ids;
  for (const OrderedJson& id : value) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
      return Status::error("the field `input_ids[" +
                           std::to_string(ids.size()) + "]` is `" + id.dump() +
                           "` where a token id is due; a text is called "
                           "`prompt`");
    ids.push_back(id.get<int32_t>());
  }
  if (!value.is_array() || ids.empty())
    return Status::error("the field `input_ids` is no list of token ids; "
                         "write one, `[1, 2, 3]`, or a text as `prompt`");
  return PromptContent(std::move(ids));
}

Expected<PromptContent> contentOf(const OrderedJson& row) {
  const char* given = nullptr;
  for (const char* field : contentFields) {
    if (!row.contains(field))
      continue;
    if (given)
      return Status::error("the fields `" + std::string(given) + "` and `" +
                           field + "` are both there; leave one of them");
    given = field;
  }
  if (!given)
    return noPrompt(row);
  const OrderedJson& value = row[given];
  if (given == std::string_view("input_ids"))
    return idsOf(value);
  if (given == std::string_view("messages")) {
    Expected<ChatInput> input = readChatInput(row);
    RECIPERUN_TRY(input);
    return PromptContent(*std::move(input));
  }
  if (!value.is_string())
    return Status::error("the field `prompt` is of type " +
                         std::string(value.type_name()) + ", and not a text" +
                         (value.is_array()
                              ? "; a list of token ids is called `input_ids`"
                              : "; write a text in quotation marks"));
  return PromptContent(value.get<std::string>());
}

/// Fields of other tools' requests, and what to do in their place. Other names
/// belong to the user.
struct ForeignFields {
  std::string_view names, advice;
};
constexpr ForeignFields foreignFields[] = {
    {" response_format json_schema guided_json guided_regex guided_choice "
     "guided_grammar structured_outputs regex grammar ",
     "`--json-schema`, `--regex`, `--choice` or `--grammar` gives the answers "
     "of all lines their form"},
    {" system system_prompt ",
     "write it as the first of `messages`, with the role `system`"},
    {" max_new_tokens max_length max_output_tokens max_completion_tokens "
     "n_predict ",
     "write `max_tokens`"},
    {" lora lora_name lora_request lora_path lora_id adapter_name adapter_id ",
     "write `adapter`, the name of an `--adapter`"},
    {" stop_sequences stop_strings stop_words ", "write `stop`"},
    {" best_of num_return_sequences num_beams ",
     "write `n`, the number of answers"},
    {" stream stream_options ",
     "answers are written when they end: leave it out"},
};

Status checkForeign(const std::string& name) {
  for (const ForeignFields& each : foreignFields)
    if (each.names.find(" " + name + " ") != each.names.npos)
      return Status::error("there is no field `" + name + "`; " +
                           std::string(each.advice));
  return {};
}

/// Fails when a field that is not read is another tool's, or looks like one
/// that is read.
Status checkNames(const OrderedJson& row) {
  std::vector<std::string> known = samplingFieldNames();
  for (const char* name :
       {"prompt", "messages", "input_ids", "id", "adapter", "tools",
        "chat_template_kwargs", "add_generation_prompt"})
    known.push_back(name);
  for (const auto& [name, value] : row.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end())
      continue;
    RECIPERUN_TRY(checkForeign(name));
    constexpr size_t shortest = 4; // shorter names are close to many others
    const std::optional<std::string> meant = cli::nearest(name, known);
    if (meant && name.size() >= shortest)
      return Status::error("there is no field `" + name + "`; write `" +
                           *meant + "`");
  }
  return {};
}

Prompt promptOfContent(PromptContent content,
                       const SamplingArguments& sampling) {
  Prompt prompt;
  prompt.content = std::move(content);
  prompt.sampling = sampling;
  return prompt;
}

/// Reads the name of an adapter, or null for the model alone.
Status readAdapter(const OrderedJson& row,
                   std::optional<std::string>& adapter) {
  const auto found = row.find("adapter");
  if (found == row.end())
    return {};
  if (!found->is_string() && !found->is_null())
    return Status::error("the field `adapter` is `" + found->dump() +
                         "` where a name is due; write that of an "
                         "`--adapter`, or null for the model alone");
  adapter = found->is_null() ? "" : found->get<std::string>();
  return {};
}

Expected<Prompt> promptOfJson(std::string_view line,
                              const SamplingArguments& sampling) {
  Expected<OrderedJson> row = parseOrderedJson(line, {.noun = "line"});
  RECIPERUN_TRY(row);
  if (row->is_string())
    return promptOfContent(row->get<std::string>(), sampling);
  if (!row->is_object())
    return Status::error("the line is of type " +
                         std::string(row->type_name()) +
                         "; write a text, or an object with `prompt`, "
                         "`messages` or `input_ids`");
  Expected<PromptContent> content = contentOf(*row);
  RECIPERUN_TRY(content);
  RECIPERUN_TRY(checkNames(*row));
  Prompt prompt = promptOfContent(*std::move(content), sampling);
  RECIPERUN_TRY(readSamplingFields(*row, prompt.sampling));
  RECIPERUN_TRY(readAdapter(*row, prompt.adapter));
  if (const auto id = row->find("id"); id != row->end())
    prompt.id = id->dump();
  return prompt;
}

Expected<Prompt> promptOf(std::string_view line, bool isJson,
                          const SamplingArguments& sampling) {
  RECIPERUN_TRY(checkUtf8(line));
  if (isJson)
    return promptOfJson(line, sampling);
  return promptOfContent(std::string(line), sampling);
}

bool isBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// The prompts of a file's lines, and the errors of the first bad ones.
class PromptLines {
public:
  PromptLines(const std::string& path, const SamplingArguments& sampling,
              std::vector<Prompt>& prompts)
      : file(path == "-" ? "standard input" : "`" + path + "`"),
        isJson(path.ends_with(".jsonl")), sampling(sampling), prompts(prompts),
        before(prompts.size()) {}

  /// Reads a line; false once there are too many errors.
  bool take(std::string_view line, int64_t number) {
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    const std::string place = file + ": line " + std::to_string(number);
    Expected<Prompt> prompt = promptOf(line, isJson, sampling);
    if (prompt) {
      prompt->place = place;
      prompts.push_back(*std::move(prompt));
      return true;
    }
    constexpr size_t most = 10;
    errors.push_back(place + ": " + prompt.message());
    return errors.size() < most;
  }

  Status finish() const {
    if (errors.empty() && prompts.size() == before)
      return Status::error(file + " has no prompt; write one a line" +
                           (isJson ? ", `{\"prompt\": \"...\"}`" : ""));
    std::string text;
    for (const std::string& error : errors)
      text += (text.empty() ? "" : "\n  ") + error;
    return errors.empty() ? Status::ok() : Status::error(text);
  }

private:
  std::string file;
  bool isJson;
  const SamplingArguments& sampling;
  std::vector<Prompt>& prompts;
  size_t before;
  std::vector<std::string> errors;
};

/// Fails with a remedy for a file that is a single JSON value instead of a
/// prompt per line.
Status checkLines(const std::string& path, std::string_view text) {
  const bool isNamedJson = path.ends_with(".json");
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos ||
      !(text[begin] == '[' || (isNamedJson && text[begin] == '{')))
    return {};
  const std::string_view first =
      text.substr(begin, text.find('\n', begin) - begin);
  if (!isNamedJson && !isBlank(first.substr(1)))
    return {};
  Expected<OrderedJson> whole = parseOrderedJson(text, {});
  if (!whole)
    return {};
  const bool isFile = path != "-";
  const std::string command = whole->is_array() ? "jq -c '.[]'" : "jq -c .";
  return Status::error(
      (isFile ? "`" + path + "`" : std::string("standard input")) +
      " is a JSON " + (whole->is_array() ? "array" : "object") +
      ", and a prompt is a line; write one object or text a line" +
      (isFile ? ": " + data::linesBy(command, path)
              : ", by `" + command + "`"));
}

Status readFile(const std::string& path, const SamplingArguments& sampling,
                std::vector<Prompt>& prompts) {
  Expected<std::string> text = readAll(path);
  RECIPERUN_TRY(text);
  PromptLines lines(path, sampling, prompts);
  std::string_view rest = *text;
  if (rest.starts_with(data::byteOrderMark))
    rest.remove_prefix(data::byteOrderMark.size());
  RECIPERUN_TRY(checkLines(path, rest));
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!isBlank(line) && !lines.take(line, number))
      break;
  }
  return lines.finish();
}

std::vector<Prompt> withSamples(std::vector<Prompt> prompts) {
  std::vector<Prompt> all;
  for (Prompt& prompt : prompts)
    for (int64_t sample = 0; sample < prompt.sampling.n; ++sample) {
      all.push_back(prompt);
      all.back().sample = sample;
      all.back().sampling.seed += uint64_t(sample);
    }
  return all;
}

} // namespace

Expected<std::vector<Prompt>>
readPrompts(const std::vector<PromptSource>& sources,
            const SamplingArguments& sampling) {
  std::vector<Prompt> prompts;
  for (const PromptSource& source : sources) {
    if (source.isFile) {
      RECIPERUN_TRY(readFile(source.value, sampling, prompts));
      continue;
    }
    // A single prompt needs no name.
    std::string place = sources.size() == 1
                            ? ""
                            : "prompt " + std::to_string(prompts.size() + 1);
    RECIPERUN_TRY(checkUtf8(source.value)
                      .withContext(place.empty() ? "`--prompt`" : place));
    prompts.push_back(promptOfContent(source.value, sampling));
    prompts.back().place = std::move(place);
  }
  return withSamples(std::move(prompts));
}

} // namespace reciperun::serve
