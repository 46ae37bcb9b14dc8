// Declares the options; then merges them with generation_config.json.

#include "runtime/serve/sampling/SamplingArguments.h"

#include "runtime/cli/Options.h"
#include "runtime/data/Utf8.h"
#include "runtime/serve/sampling/BadWords.h"
#include "runtime/serve/sampling/GenerationConfig.h"
#include "runtime/serve/sampling/SamplingRanges.h"

#include <algorithm>
#include <type_traits>

namespace reciperun::serve {
namespace {

/// The option of a field: `--top-p` of `top_p`.
std::string flagOf(std::string_view field) {
  if (field == "stop_token_ids")
    return "--stop-token";
  if (field == "bad_words")
    return "--bad-word";
  std::string name = "--" + std::string(field);
  for (char& letter : name)
    letter = letter == '_' ? '-' : letter;
  return name;
}

/// Renames the fields in `found` to command-line options, except for those that
/// a line of a prompt file gave.
std::vector<BadOption> asGiven(std::vector<BadOption> found,
                               const SamplingArguments& arguments) {
  const std::vector<std::string>& fields = arguments.fieldsOfLine;
  for (BadOption& each : found)
    if (std::find(fields.begin(), fields.end(), each.field) == fields.end())
      each.field = flagOf(each.field);
  return found;
}

/// An option that takes a number of the range.
template <class T>
cli::Option rangedOption(const SamplingRange& range, std::string valueName,
                         std::string help, std::optional<T>& target) {
  auto store = [range, &target](const cli::Given& given) -> cli::Check {
    target = cli::parseNumber<T>(given.value);
    if (target && range.contains(double(*target)))
      return std::nullopt;
    const char* kind =
        std::is_integral_v<T> ? "a whole number, " : "a number, ";
    return cli::UsageError{"`" + flagOf(range.field) + "` takes " + kind +
                           range.text() + ", not `" + given.value + "`"};
  };
  return {.name = flagOf(range.field),
          .valueName = std::move(valueName),
          .help = std::move(help),
          .store = std::move(store)};
}

/// An option that may be given several times and appends to a list.
cli::Option listOption(std::string name, std::string valueName,
                       std::string help,
                       std::function<cli::Check(const std::string&)> append) {
  return {.name = std::move(name),
          .valueName = std::move(valueName),
          .help = std::move(help),
          .repeats = true,
          .store = [append = std::move(append)](const cli::Given& given) {
            return append(given.value);
          }};
}

cli::Check appendBias(const std::string& text, SamplingArguments& arguments) {
  const size_t sign = std::min(text.find('='), text.size());
  const auto id = cli::parseNumber<int32_t>(text.substr(0, sign));
  const auto value =
      cli::parseNumber<float>(text.substr(std::min(sign + 1, text.size())));
  if (!id || *id < 0 || !value || !logitBiasRange.contains(*value))
    return cli::UsageError{"`--logit-bias` takes ID=VALUE with a token id and "
                           "a number, " +
                           logitBiasRange.text() + ", not `" + text + "`"};
  arguments.logitBias.emplace_back(*id, *value);
  return std::nullopt;
}

cli::Check appendStopToken(const std::string& text,
                           SamplingArguments& arguments) {
  const auto id = cli::parseNumber<int32_t>(text);
  if (!id || *id < 0)
    return cli::UsageError{"`--stop-token` takes a token id, not `" + text +
                           "`"};
  arguments.stopTokens.push_back(*id);
  return std::nullopt;
}

cli::Check appendText(const std::string& name, const std::string& text,
                      std::vector<std::string>& target) {
  const size_t bad = data::firstIllFormed(text);
  if (bad != std::string_view::npos)
    return cli::UsageError{"the text of `" + name +
                           "` is not UTF-8 at its byte " +
                           std::to_string(bad + 1)};
  target.push_back(text);
  return std::nullopt;
}

void addNumbers(SamplingArguments& arguments,
                std::vector<cli::Option>& options) {
  options.push_back(rangedOption(
      temperatureRange, "T",
      "0: always the likeliest token (default, unless --top-k, --top-p or "
      "--min-p is given); above: drawn, the more freely the higher",
      arguments.temperature));
  options.push_back(rangedOption(topKRange, "K",
                                 "draw from the K likeliest tokens (0: all)",
                                 arguments.topK));
  options.push_back(
      rangedOption(topPRange, "P",
                   "draw from the fewest tokens of probability P together (1)",
                   arguments.topP));
  options.push_back(rangedOption(
      minPRange, "P",
      "draw from tokens of at least P times the largest probability (0)",
      arguments.minP));
  options.push_back(
      rangedOption(repetitionPenaltyRange, "R",
                   "above 1: tokens of prompt and answer are less likely (1)",
                   arguments.repetitionPenalty));
  options.push_back(
      rangedOption(presencePenaltyRange, "R",
                   "above 0: tokens of the answer are less likely (0)",
                   arguments.presencePenalty));
  options.push_back(
      rangedOption(frequencyPenaltyRange, "R",
                   "the same for each time that the answer has the token (0)",
                   arguments.frequencyPenalty));
}

void addTokens(SamplingArguments& arguments,
               std::vector<cli::Option>& options) {
  options.push_back(listOption("--logit-bias", "ID=VALUE",
                               "add VALUE to the logit of a token",
                               [&arguments](const std::string& text) {
                                 return appendBias(text, arguments);
                               }));
  options.push_back(listOption("--bad-word", "TEXT", "never write this text",
                               [&arguments](const std::string& text) {
                                 return appendText("--bad-word", text,
                                                   arguments.badWords);
                               }));
  options.push_back(cli::number(
      "--seed", "S", "of the draws (0); the same seed, the same answer", 0,
      arguments.seed));
}

void addEnds(SamplingArguments& arguments, std::vector<cli::Option>& options) {
  options.push_back(rangedOption(maxTokensRange, "N",
                                 "longest answer, in tokens (256)",
                                 arguments.maxTokens));
  options.push_back(
      rangedOption(minTokensRange, "N",
                   "tokens before the answer may end by a token or --stop (0)",
                   arguments.minTokens));
  options.push_back(listOption("--stop", "TEXT", "end before this text",
                               [&arguments](const std::string& text) {
                                 return appendText("--stop", text,
                                                   arguments.stopStrings);
                               }));
  options.push_back(listOption("--stop-token", "ID", "end at this token",
                               [&arguments](const std::string& text) {
                                 return appendStopToken(text, arguments);
                               }));
  options.push_back(
      rangedOption(timeoutRange, "SECONDS",
                   "end an answer this long after its prompt was taken up, "
                   "with the tokens that it has",
                   arguments.timeout));
  options.push_back(cli::flag("--ignore-eos",
                              "continue after the model's end tokens",
                              arguments.ignoreEndTokens));
}

SamplingOptions optionsWithoutTokenizer(const SamplingArguments& arguments,
                                        const GenerationConfig& config) {
  const bool isFiltered = arguments.topK || arguments.topP || arguments.minP;
  const double temperature =
      config.temperature == 0 && isFiltered ? 1 : config.temperature;
  SamplingOptions options;
  options.temperature = arguments.temperature.value_or(temperature);
  options.topK = arguments.topK.value_or(config.topK.value_or(0));
  options.topP = arguments.topP.value_or(config.topP.value_or(1));
  options.minP = arguments.minP.value_or(config.minP.value_or(0));
  options.repetitionPenalty = arguments.repetitionPenalty.value_or(
      config.repetitionPenalty.value_or(1));
  options.presencePenalty = arguments.presencePenalty.value_or(0);
  options.frequencyPenalty = arguments.frequencyPenalty.value_or(0);
  options.logitBias = arguments.logitBias;
  options.seed = arguments.seed;
  options.maxTokens =
      arguments.maxTokens.value_or(config.maxTokens.value_or(256));
  options.minTokens =
      arguments.minTokens.value_or(config.minTokens.value_or(0));
  options.stopTokens = arguments.stopTokens;
  options.stopStrings = arguments.stopStrings;
  options.ignoreEndTokens = arguments.ignoreEndTokens;
  options.timeout = arguments.timeout;
  options.logprobs = arguments.logprobs;
  options.promptLogprobs = arguments.promptLogprobs;
  return options;
}

} // namespace

std::vector<cli::Option> describeDistribution(SamplingArguments& arguments) {
  std::vector<cli::Option> options;
  addNumbers(arguments, options);
  for (cli::Option& each : options)
    each.group = "sampling";
  return options;
}

SamplingOptions distributionOf(const SamplingArguments& arguments) {
  return optionsWithoutTokenizer(arguments, GenerationConfig());
}

std::vector<cli::Option> describeSampling(SamplingArguments& arguments) {
  std::vector<cli::Option> options;
  addNumbers(arguments, options);
  addTokens(arguments, options);
  addEnds(arguments, options);
  options.push_back(cli::number(
      "--logprobs", "N",
      "report log probabilities, and those of the N likeliest tokens", 0,
      arguments.logprobs));
  options.push_back(cli::number(
      "--prompt-logprobs", "N",
      "the same for the tokens of the prompt, which takes more steps", 0,
      arguments.promptLogprobs));
  options.push_back(cli::flag(
      "--generation-config",
      "take what is not given from the model's generation_config.json",
      arguments.generationConfig));
  for (cli::Option& each : options)
    each.group = "sampling";
  return options;
}

Expected<SamplingOptions>
samplingOptionsOf(const SamplingArguments& arguments,
                  const std::filesystem::path& modelDirectory,
                  const data::Tokenizer& tokenizer, int64_t vocab) {
  GenerationConfig config;
  if (arguments.generationConfig) {
    auto read = readGenerationConfig(modelDirectory / "generation_config.json");
    RECIPERUN_TRY(read.status()
                      .withContext("`--generation-config`")
                      .withRemedy("mend the file, or leave the option out"));
    config = *read;
  }
  SamplingOptions options = optionsWithoutTokenizer(arguments, config);
  for (const std::string& word : arguments.badWords) {
    auto sequences = badWordTokens(tokenizer, word);
    RECIPERUN_TRY(sequences);
    options.badWords.insert(options.badWords.end(), sequences->begin(),
                            sequences->end());
  }
  RECIPERUN_TRY(refusalOf(asGiven(findBadOptions(options, vocab), arguments)));
  if (arguments.n > 1 && options.temperature == 0)
    return Status::error("`n` = " + std::to_string(arguments.n) +
                         " answers of the likeliest tokens would be equal; set "
                         "a `temperature` above 0");
  return options;
}

} // namespace reciperun::serve
