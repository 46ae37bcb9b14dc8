// Reads a source, splits it into lines, and checks that each is UTF-8.

#include "runtime/serve/Prompts.h"

#include "runtime/base/ParseJson.h"
#include "runtime/cli/Spelling.h"
#include "runtime/data/Utf8.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

namespace reciperun::serve {
namespace {

/// Enough for a million prompts; limits the damage of a wrong file.
constexpr size_t maxBytes = size_t(256) << 20;
constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

/// Reads instead of mapping, since the file may be a pipe.
Expected<std::string> readAll(const std::string& path) {
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
                             std::to_string(at + 1));
}

/// The error for a line without a prompt: says what it has.
Status noPrompt(const nlohmann::json& json) {
  if (!json.is_object())
    return Status::error("the line is of type " +
                         std::string(json.type_name()) +
                         "; write a text, or an object with a text `prompt`");
  if (json.contains("prompt"))
    return Status::error("the field `prompt` is of type " +
                         std::string(json["prompt"].type_name()) +
                         ", and not a text");
  constexpr size_t mostNames = 8;
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items())
    names.push_back(name);
  if (names.empty() || names.size() > mostNames)
    return Status::error("the object has no field `prompt`");
  const std::string list = cli::quotedList(names, "and");
  return Status::error("the field `prompt` is missing; the object has " + list +
                       (names.size() == 1 && json.front().is_string()
                            ? ": call it `prompt`"
                            : ""));
}

Expected<std::string> promptOfJson(std::string_view line) {
  Expected<nlohmann::json> json = parseJson(line, {.noun = "line"});
  RECIPERUN_TRY(json);
  const nlohmann::json* prompt = &*json;
  if (json->is_object()) {
    auto found = json->find("prompt");
    prompt = found == json->end() ? nullptr : &*found;
  }
  if (!prompt || !prompt->is_string())
    return noPrompt(*json);
  return prompt->get<std::string>();
}

Expected<std::string> promptOf(std::string_view line, bool isJson) {
  RECIPERUN_TRY(checkUtf8(line));
  return isJson ? promptOfJson(line) : std::string(line);
}

bool isBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Status readFile(const std::string& path, std::vector<Prompt>& prompts) {
  Expected<std::string> text = readAll(path);
  RECIPERUN_TRY(text);
  const std::string file = path == "-" ? "standard input" : "`" + path + "`";
  const size_t before = prompts.size();
  std::string_view rest = *text;
  if (rest.starts_with(byteOrderMark))
    rest.remove_prefix(byteOrderMark.size());
  for (int64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (isBlank(line))
      continue;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    const std::string place = file + ": line " + std::to_string(number);
    Expected<std::string> prompt = promptOf(line, path.ends_with(".jsonl"));
    RECIPERUN_TRY(prompt.status().withContext(place));
    prompts.push_back({*std::move(prompt), place});
  }
  if (prompts.size() == before)
    return Status::error(file + " has no prompt");
  return Status::ok();
}

} // namespace

Expected<std::vector<Prompt>>
readPrompts(const std::vector<PromptSource>& sources) {
  std::vector<Prompt> prompts;
  for (const PromptSource& source : sources) {
    if (source.isFile) {
      RECIPERUN_TRY(readFile(source.value, prompts));
      continue;
    }
    // A single prompt needs no name.
    std::string place = sources.size() == 1
                            ? ""
                            : "prompt " + std::to_string(prompts.size() + 1);
    RECIPERUN_TRY(checkUtf8(source.value)
                      .withContext(place.empty() ? "`--prompt`" : place));
    prompts.push_back({source.value, std::move(place)});
  }
  return prompts;
}

} // namespace reciperun::serve
