// Options one by one, then what must stand together.

#include "runtime/serve/GenerateArguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace reciperun::serve {

const char* const generateHelp =
    "usage: reciperun generate DIR --prompt TEXT [options]\n"
    "\n"
    "Answers prompts with the model in DIR, a folder that a training "
    "exported\n"
    "(`export.hf`). The answers go to stdout as they come, in the order of "
    "the\n"
    "prompts, an empty line between two.\n"
    "\n"
    "  --prompt TEXT      what to answer; may be given several times\n"
    "  --prompt-file FILE a prompt a line; of FILE.jsonl, a JSON text or an\n"
    "                     object with `prompt` a line; `-` reads stdin\n"
    "  --json             print an object a line: prompt, answer, tokens, "
    "stop\n"
    "  --max-tokens N     longest answer, in tokens (256)\n"
    "  --temperature T    0: always the likeliest token (default); above: "
    "drawn,\n"
    "                     the more freely the higher\n"
    "  --seed S           of the draws (0); the same seed, the same answer\n"
    "\n"
    "For comparison with other programs:\n"
    "  --token-ids I,...  ids in place of a prompt; needs --logits\n"
    "  --logits FILE      write the logits behind each id, f32 [ids, vocab], "
    "to\n"
    "                     a safetensors file instead of answering; replaces a\n"
    "                     file of logits\n"
    "  --force            replace any file\n";

namespace {

template <class T> std::optional<T> parseNumber(const std::string& text) {
  T value = {};
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

Status badValue(const std::string& option, const std::string& expected,
                const std::string& value) {
  return Status::error("`" + option + "` takes " + expected + ", not `" +
                       value + "`");
}

Status parseIds(const std::string& text, std::vector<int32_t>& ids) {
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    auto id = parseNumber<int32_t>(text.substr(begin, end - begin));
    if (!id)
      return badValue("--token-ids", "numbers with commas between", text);
    ids.push_back(*id);
    begin = end + 1;
  }
  return Status::ok();
}

/// One option and its value.
Status take(const std::string& option, const std::string& value,
            GenerateArguments& out) {
  if (option == "--prompt" || option == "--prompt-file") {
    out.prompts.push_back({option == "--prompt-file", value});
    return Status::ok();
  }
  if (option == "--logits") {
    out.logitsPath = value;
    return Status::ok();
  }
  if (option == "--token-ids")
    return parseIds(value, out.tokenIds);
  if (option == "--max-tokens") {
    auto number = parseNumber<int64_t>(value);
    if (!number || *number < 1)
      return badValue(option, "a whole number from 1", value);
    out.options.maxTokens = *number;
    return Status::ok();
  }
  if (option == "--temperature") {
    auto number = parseNumber<double>(value);
    if (!number || !std::isfinite(*number) || *number < 0)
      return badValue(option, "a number from 0", value);
    out.options.temperature = *number;
    return Status::ok();
  }
  auto number = parseNumber<uint64_t>(value);
  if (!number)
    return badValue(option, "a whole number from 0", value);
  out.options.seed = *number;
  return Status::ok();
}

bool isOption(const std::string& name) {
  for (const char* known :
       {"--prompt", "--prompt-file", "--max-tokens", "--temperature", "--seed",
        "--token-ids", "--logits"})
    if (name == known)
      return true;
  return false;
}

Status checkTogether(const GenerateArguments& arguments) {
  if (arguments.directory.empty())
    return Status::error("`reciperun generate` needs the model's directory");
  if (arguments.tokenIds.empty() != arguments.logitsPath.empty())
    return Status::error("`--token-ids` and `--logits` go together");
  if (!arguments.prompts.empty() && !arguments.tokenIds.empty())
    return Status::error("`reciperun generate` takes prompts or `--token-ids`, "
                         "not both");
  if (arguments.prompts.empty() && arguments.tokenIds.empty())
    return Status::error("`reciperun generate` needs `--prompt TEXT` or "
                         "`--prompt-file FILE`");
  return Status::ok();
}

} // namespace

Expected<GenerateArguments>
parseGenerateArguments(const std::vector<std::string>& arguments) {
  GenerateArguments out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      out.help = true;
      return out;
    }
    if (!argument.starts_with("-")) {
      if (!out.directory.empty())
        return Status::error("`reciperun generate` takes one directory, not `" +
                             out.directory + "` and `" + argument + "`");
      out.directory = argument;
      continue;
    }
    if (argument == "--json" || argument == "--force") {
      (argument == "--json" ? out.json : out.force) = true;
      continue;
    }
    size_t equals = argument.find('=');
    std::string option = argument.substr(0, equals);
    if (!isOption(option))
      return Status::error("`reciperun generate` has no option `" + option +
                           "`");
    if (equals == std::string::npos && i + 1 == arguments.size())
      return Status::error("`" + option + "` needs a value");
    RECIPERUN_TRY(take(option,
                       equals == std::string::npos
                           ? arguments[++i]
                           : argument.substr(equals + 1),
                       out));
  }
  RECIPERUN_TRY(checkTogether(out));
  return out;
}

} // namespace reciperun::serve
