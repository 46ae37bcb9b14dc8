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
                           "object a line, with `prompt`, `messages` or "
                           "`input_ids`; `-` reads stdin"
                         : "what to answer; may be given several times",
          .repeats = true,
          .takesEmpty = !isFile,
          .takesAddress = isFile,
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
  return {
      promptOption(/*isFile=*/false, arguments),
      promptOption(/*isFile=*/true, arguments),
      cli::flag("--json",
                "print an object a line: prompt, answer, tokens, stop",
                arguments.json),
      cli::pathOrAddress("--output", "FILE",
                         "write the objects to a file, each when its answer is "
                         "complete, with `index` for the number of the prompt",
                         arguments.output),
      cli::flag("--resume",
                "answer only the prompts whose answers `--output` lacks",
                arguments.resume),
      cli::flag("--force", "replace the file of `--output` or `--logits`",
                arguments.force),
      adapterOption("prompts of JSON lines name theirs as `adapter`, and "
                    "use a single one where they name none",
                    arguments.adapters),
      cli::number("--n", "N",
                  "answers to each prompt, drawn with seeds that follow "
                  "one another (1)",
                  1, arguments.sampling.n),
      cli::number("--threads", "N",
                  "of the CPU (`OMP_NUM_THREADS`, or all cores)", 1,
                  arguments.threads)};
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
      cli::pathOrAddress(
          "--logits", "FILE",
          "write the logits behind each id, f32 [ids, vocab], to a "
          "safetensors file instead of answering; replaces a file of "
          "logits",
          arguments.logitsPath)};
  for (cli::Option& each : options)
    each.group = "for comparison with other programs";
  return options;
}

cli::Check checkTogether(const GenerateArguments& arguments) {
  if (arguments.tokenIds.empty() != arguments.logitsPath.empty())
    return cli::UsageError{"`--token-ids` and `--logits` go together",
                           "give both, `--token-ids=1,2,3 --logits=FILE`, or "
                           "neither"};
  if (!arguments.prompts.empty() && !arguments.tokenIds.empty())
    return cli::UsageError{"`reciperun generate` takes prompts or "
                           "`--token-ids`, not both",
                           "leave one of them out"};
  if (arguments.prompts.empty() && arguments.tokenIds.empty())
    return cli::UsageError{"`reciperun generate` needs `--prompt TEXT` or "
                           "`--prompt-file FILE`",
                           "write `reciperun generate DIR --prompt TEXT`"};
  if (arguments.resume && arguments.output.empty())
    return cli::UsageError{"`--resume` needs the `--output` of an earlier "
                           "call",
                           "add `--output=FILE`, the file of that call"};
  if (arguments.resume && arguments.force)
    return cli::UsageError{
        "`--resume` keeps the answers of the file, `--force` "
        "replaces it",
        "leave one of them out"};
  if (!arguments.output.empty() && !arguments.logitsPath.empty())
    return cli::UsageError{"`--output` takes answers; `--logits` has its own "
                           "file",
                           "leave `--output` out"};
  return checkGrammar(arguments.grammar);
}

} // namespace

cli::Command describeGenerate(GenerateArguments& arguments) {
  std::vector<cli::Option> options = optionsOf(arguments);
  for (cli::Option& each : describeSampling(arguments.sampling))
    options.push_back(std::move(each));
  for (cli::Option& each : describeGrammar(arguments.grammar))
    options.push_back(std::move(each));
  for (cli::Option& each : comparisonOptions(arguments))
    options.push_back(std::move(each));
  return {.name = "generate",
          .synopsis = "DIR --prompt TEXT [options]",
          .summary = "answer prompts with an exported model",
          .details =
              "Answers prompts with the model in DIR, a folder that a training "
              "exported (`export.hf`), or a Hugging Face directory of a "
              "library model; it may be at `s3://BUCKET/PREFIX`. Many prompts "
              "are answered at once. The answers "
              "go to stdout as they come, in the order of the prompts, an "
              "empty line between two; or to a file of JSON objects "
              "(`--output`), which a later call continues (`--resume`).",
          .options = std::move(options),
          .operands = {1, 1, "the model's directory", &arguments.directories,
                       /*takeAddresses=*/true},
          .check = [&arguments] { return checkTogether(arguments); }};
}

} // namespace reciperun::serve
