// The command line of `reciperun generate`, and what it prints.

#include "runtime/serve/GenerateCommand.h"

#include "runtime/checkpoint/Safetensors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace reciperun::serve {
namespace {

constexpr const char* helpText =
    "usage: reciperun generate DIR --prompt TEXT [options]\n"
    "\n"
    "Answers a prompt with the model in DIR, a folder that a training "
    "exported\n"
    "(`export.hf`). The answer goes to stdout as it comes.\n"
    "\n"
    "  --prompt TEXT      what to answer\n"
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
    "                     a safetensors file instead of answering\n";

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
  if (option == "--prompt") {
    out.prompt = value;
    out.hasPrompt = true;
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
  for (const char* known : {"--prompt", "--max-tokens", "--temperature",
                            "--seed", "--token-ids", "--logits"})
    if (name == known)
      return true;
  return false;
}

Status checkTogether(const GenerateArguments& arguments) {
  if (arguments.directory.empty())
    return Status::error("`reciperun generate` needs the model's directory");
  if (arguments.tokenIds.empty() != arguments.logitsPath.empty())
    return Status::error("`--token-ids` and `--logits` go together");
  if (arguments.hasPrompt == !arguments.tokenIds.empty())
    return Status::error(
        "`reciperun generate` needs `--prompt TEXT`" +
        std::string(arguments.hasPrompt ? ", or `--token-ids`, not both" : ""));
  return Status::ok();
}

Status writeLogits(Generator& generator, const GenerateArguments& arguments) {
  Expected<Logits> logits = generator.logits(arguments.tokenIds);
  RECIPERUN_TRY(logits);
  auto writer = checkpoint::SafetensorsWriter::create(
      arguments.logitsPath,
      {{"logits", "F32", {logits->tokens, logits->vocab}}});
  RECIPERUN_TRY(writer);
  RECIPERUN_TRY(writer->append(std::as_bytes(std::span(logits->values))));
  return writer->finish();
}

Status printAnswer(Generator& generator, const GenerateArguments& arguments) {
  Expected<Answer> answer = generator.answer(
      arguments.prompt, arguments.options, [](std::string_view piece) {
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
      });
  RECIPERUN_TRY(answer);
  std::printf("\n");
  if (std::fflush(stdout) != 0)
    return Status::error("cannot write the answer to stdout");
  if (answer->stop == Stop::tokenLimit)
    std::fprintf(stderr, "note: ended at `--max-tokens` = %lld\n",
                 static_cast<long long>(arguments.options.maxTokens));
  if (answer->stop == Stop::cacheFull)
    std::fprintf(stderr,
                 "note: ended where the plan's KV cache of %lld tokens is "
                 "full\n",
                 static_cast<long long>(generator.plan().cacheTokens));
  return Status::ok();
}

/// The cores that this process may run on.
int coresOfProcess() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&mask));
}

int fail(const Status& status, int code) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return code;
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

int generateCommand(const std::vector<std::string>& arguments) {
  Expected<GenerateArguments> parsed = parseGenerateArguments(arguments);
  if (!parsed)
    return fail(parsed.status(), 2);
  if (parsed->help) {
    std::fputs(helpText, stdout);
    return 0;
  }
  auto generator = Generator::open(parsed->directory, coresOfProcess());
  if (!generator)
    return fail(generator.status(), 1);
  Status done = parsed->logitsPath.empty() ? printAnswer(**generator, *parsed)
                                           : writeLogits(**generator, *parsed);
  return done ? 0 : fail(done, 1);
}

} // namespace reciperun::serve
