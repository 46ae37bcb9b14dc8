// Declares the options and checks their combinations.

#include "runtime/serve/commands/GenerateArguments.h"

#include "runtime/cli/Options.h"

#include <algorithm>

namespace reciperun::serve {
namespace {

/// The option for a prompt or a file of prompts. Prompts are answered in the
/// order given, regardless of which of both options gives them.
cli::Option promptOption(bool isFile, GenerateArguments& arguments) {
  return {.name = isFile ? "--prompt-file" : "--prompt",
          .valueName = isFile ? "FILE" : "TEXT",
          .help = isFile ? "a prompt a line; of FILE.jsonl, a JSON text or an "
                           "object with `prompt` a line; `-` reads stdin"
                         : "what to answer; may be given several times",
          .repeats = true,
          .takesEmpty = !isFile,
          .store = [isFile, &arguments](const cli::Given& given) -> cli::Check {
            arguments.prompts.push_back({isFile, given.value});
            return std::nullopt;
          }};
}

cli::Check storeIds(const std::string& text, std::vector<int32_t>& ids) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    auto id = cli::parseNumber<int32_t>(text.substr(begin, end - begin));
    if (!id)
      return cli::UsageError{"`--token-ids` takes numbers with commas between, "
                             "not `" +
                             text + "`"};
    ids.push_back(*id);
    begin = end + 1;
  }
  return std::nullopt;
}

std::vector<cli::Option> optionsOf(GenerateArguments& arguments) {
  GenerateOptions& options = arguments.options;
  return {promptOption(/*isFile=*/false, arguments),
          promptOption(/*isFile=*/true, arguments),
          cli::flag("--json",
                    "print an object a line: prompt, answer, tokens, stop",
                    arguments.json),
          cli::number("--max-tokens", "N", "longest answer, in tokens (256)", 1,
                      options.maxTokens),
          cli::number("--temperature", "T",
                      "0: always the likeliest token (default); above: drawn, "
                      "the more freely the higher",
                      0, options.temperature),
          cli::number("--seed", "S",
                      "of the draws (0); the same seed, the same answer", 0,
                      options.seed)};
}

/// The options that write the logits of given ids.
std::vector<cli::Option> comparisonOptions(GenerateArguments& arguments) {
  std::vector<cli::Option> options = {
      {.name = "--token-ids",
       .valueName = "I,...",
       .help = "ids in place of a prompt; needs --logits",
       .store =
           [&arguments](const cli::Given& given) {
             return storeIds(given.value, arguments.tokenIds);
           }},
      cli::text("--logits", "FILE",
                "write the logits behind each id, f32 [ids, vocab], to a "
                "safetensors file instead of answering; replaces a file of "
                "logits",
                arguments.logitsPath),
      cli::flag("--force", "replace any file", arguments.force)};
  for (cli::Option& each : options)
    each.group = "for comparison with other programs";
  return options;
}

cli::Check checkTogether(const GenerateArguments& arguments) {
  if (arguments.tokenIds.empty() != arguments.logitsPath.empty())
    return cli::UsageError{"`--token-ids` and `--logits` go together"};
  if (!arguments.prompts.empty() && !arguments.tokenIds.empty())
    return cli::UsageError{"`reciperun generate` takes prompts or "
                           "`--token-ids`, not both"};
  if (arguments.prompts.empty() && arguments.tokenIds.empty())
    return cli::UsageError{"`reciperun generate` needs `--prompt TEXT` or "
                           "`--prompt-file FILE`"};
  return std::nullopt;
}

} // namespace

cli::Command describeGenerate(GenerateArguments& arguments) {
  std::vector<cli::Option> options = optionsOf(arguments);
  for (cli::Option& each : comparisonOptions(arguments))
    options.push_back(std::move(each));
  return {.name = "generate",
          .synopsis = "DIR --prompt TEXT [options]",
          .summary = "answer prompts with an exported model",
          .details =
              "Answers prompts with the model in DIR, a folder that a training "
              "exported (`export.hf`), or a Hugging Face directory of a "
              "library model. The answers go to stdout as they come, in the "
              "order of the prompts, an empty line between two.",
          .options = std::move(options),
          .operands = {1, 1, "the model's directory", &arguments.directories},
          .check = [&arguments] { return checkTogether(arguments); }};
}

} // namespace reciperun::serve
