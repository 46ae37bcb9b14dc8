// 1. Open the model; 2. read a message or command; 3. carry it out; until the
//    input ends.

#include "runtime/serve/commands/ChatCommand.h"

#include "runtime/base/ParseJson.h"
#include "runtime/cli/Options.h"
#include "runtime/data/Utf8.h"
#include "runtime/serve/commands/ChatLine.h"
#include "runtime/serve/commands/ChatSession.h"
#include "runtime/serve/commands/InterruptKey.h"
#include "runtime/serve/engine/AdapterArguments.h"
#include "runtime/serve/engine/ServingRanks.h"
#include "runtime/serve/sampling/SamplingArguments.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace reciperun::serve {
namespace {

struct ChatArguments {
  std::vector<std::string> directories; // exactly one
  std::string system;
  nlohmann::ordered_json variables;
  std::vector<NamedAdapter> adapters;
  SamplingArguments sampling;
};

int failChat(const Status& status) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return 1;
}

void printPiece(std::string_view piece) {
  std::fwrite(piece.data(), 1, piece.size(), stdout);
  std::fflush(stdout);
}

/// The terminal, or pipes in its place.
class ChatTerminal {
public:
  ChatTerminal() : isTerminal(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {}
  ~ChatTerminal() { std::free(buffer); }
  ChatTerminal(const ChatTerminal&) = delete;
  ChatTerminal& operator=(const ChatTerminal&) = delete;

  /// The next message, possibly of several lines; nullopt at the end of the
  /// input.
  std::optional<std::string> next(InterruptKey& key) {
    std::string message;
    for (bool goesOn = false; !isEnded;) {
      key.clear();
      prompt(goesOn ? ". " : "> ");
      std::string line;
      if (readLine(line)) {
        goesOn = appendLine(line, message);
        if (!goesOn)
          return message;
      } else if (key.isPressed()) {
        std::fputs("\nCtrl-D or /exit ends the program\n", stderr);
        message.clear();
        goesOn = false;
      } else {
        isEnded = true;
      }
    }
    // The end of the input ends a message as well.
    return message.empty() ? std::nullopt : std::optional(message);
  }

  bool shows() const { return isTerminal; }

private:
  void prompt(const char* text) const {
    if (isTerminal)
      printPiece(text);
  }

  bool readLine(std::string& line) {
    const ssize_t size = ::getline(&buffer, &capacity, stdin);
    if (size < 0) {
      std::clearerr(stdin);
      return false;
    }
    line.assign(buffer, size_t(size));
    while (line.ends_with('\n') || line.ends_with('\r'))
      line.pop_back();
    return true;
  }

  bool isTerminal;
  bool isEnded = false;
  char* buffer = nullptr;
  size_t capacity = 0;
};

/// Says why an answer ended early.
void noteReason(FinishReason reason, const ChatSession& session,
                const plan::Serving& limits) {
  if (reason == FinishReason::tokenLimit)
    std::fprintf(stderr, "note: ended at %lld tokens (`--max-tokens`)\n",
                 static_cast<long long>(
                     std::min(session.options().maxTokens, limits.maxOutput)));
  if (reason == FinishReason::cacheFull)
    std::fprintf(stderr,
                 "note: ended where the conversation fills the %lld tokens of "
                 "the plan; `/reset` begins a new one\n",
                 static_cast<long long>(limits.maxTokens));
  if (reason == FinishReason::timeout)
    std::fputs("note: ended at the `--timeout`\n", stderr);
  if (reason == FinishReason::cancelled)
    std::fputs("note: stopped\n", stderr);
}

/// Answers a message; false when it could not be answered.
bool answerMessage(const std::string& message, ChatSession& session,
                   const plan::Serving& limits, InterruptKey& key) {
  key.clear();
  Expected<FinishReason> reason =
      session.answer(message, {.piece = printPiece,
                               .isStopped = [&] { return key.isPressed(); }});
  printPiece("\n");
  if (!reason) {
    failChat(reason.status());
    return false;
  }
  noteReason(*reason, session, limits);
  return true;
}

/// Carries lines out until the input ends. Returns the number that could not
/// be.
int talk(ChatSession& session, const plan::Serving& limits) {
  InterruptKey key;
  ChatTerminal terminal;
  if (terminal.shows())
    std::fputs("/help lists the commands, Ctrl-D ends\n", stderr);
  int failures = 0;
  while (std::optional<std::string> line = terminal.next(key)) {
    if (line->find_first_not_of(" \t\n") == std::string::npos)
      continue;
    Expected<ChatLine> read = readChatLine(*line);
    if (!read) {
      failures += failChat(read.status());
      continue;
    }
    switch (read->kind) {
    case ChatLine::Kind::message:
      failures += answerMessage(read->text, session, limits, key) ? 0 : 1;
      break;
    case ChatLine::Kind::reset:
      session.reset();
      break;
    case ChatLine::Kind::system:
      session.setSystem(read->text);
      break;
    case ChatLine::Kind::adapter:
      if (const Status set = session.setAdapter(read->text); !set.isOk())
        failures += failChat(set);
      break;
    case ChatLine::Kind::help:
      printPiece(chatHelp());
      break;
    case ChatLine::Kind::exit:
      return terminal.shows() ? 0 : failures;
    }
    if (std::ferror(stdout))
      return failChat(Status::error("cannot write the answers to stdout"));
  }
  if (terminal.shows())
    printPiece("\n");
  return terminal.shows() ? 0 : failures;
}

/// Answers are as long as the plan allows where no option limits them.
SamplingArguments withPlanLimits(SamplingArguments sampling,
                                 const plan::Serving& limits) {
  if (!sampling.maxTokens && !sampling.generationConfig)
    sampling.maxTokens = limits.maxOutput;
  return sampling;
}

/// The part of rank 0.
Expected<int> chat(const ChatArguments& arguments, const ModelFolder& folder,
                   ServingRanks& ranks) {
  if (!folder.tokenizer)
    return noTokenizer(folder);
  Expected<PromptTokens> prompts =
      PromptTokens::open(folder.path, folder.plan, *folder.tokenizer);
  RECIPERUN_TRY(prompts);
  if (prompts->renderer().guessesForm())
    std::fputs("note: the model's folder has no chat template, and the model "
               "was not trained on\nmessages: it may not know the form of "
               "`data.chat` that they are written in\n",
               stderr);
  Expected<SamplingOptions> sampling = samplingOptionsOf(
      withPlanLimits(arguments.sampling, *folder.plan.serving), folder.path,
      *folder.tokenizer, folder.plan.data.vocab);
  RECIPERUN_TRY(sampling);
  auto model = ranks.open(folder);
  RECIPERUN_TRY(model);
  const auto engine = makeEngine(folder, *std::move(model));
  RECIPERUN_TRY(engine);
  RECIPERUN_TRY(addAdapters(arguments.adapters, **engine));
  ChatSession session(**engine, *prompts, *folder.tokenizer, *sampling);
  session.setVariables(arguments.variables);
  session.setSystem(arguments.system);
  if (arguments.adapters.size() == 1)
    RECIPERUN_TRY(session.setAdapter(arguments.adapters.front().name));
  return talk(session, *folder.plan.serving) == 0 ? 0 : 1;
}

int runChat(const ChatArguments& arguments) {
  const Expected<ModelFolder> folder =
      readModelFolder(arguments.directories.front(), arguments.adapters.size());
  const auto ranks = ServingRanks::join(folder, /*threads=*/0);
  if (!ranks->leads())
    return ranks->follow(folder);
  if (!ranks->status().isOk())
    return failChat(ranks->status());
  const Expected<int> code = chat(arguments, *folder, *ranks);
  return code ? *code : failChat(code.status());
}

cli::Check storeVariables(const std::string& text, ChatArguments& arguments) {
  Expected<nlohmann::ordered_json> json =
      parseOrderedJson(text, {.noun = "text"});
  if (!json || !json->is_object())
    return cli::UsageError{
        "`--chat-template-kwargs` takes a JSON object, not `" + text + "`" +
        (json ? "" : ": " + json.message())};
  arguments.variables = *std::move(json);
  return std::nullopt;
}

cli::Check checkSystem(const ChatArguments& arguments) {
  const size_t bad = data::firstIllFormed(arguments.system);
  if (bad != std::string::npos)
    return cli::UsageError{"the text of `--system` is not UTF-8 at its byte " +
                           std::to_string(bad + 1)};
  return std::nullopt;
}

cli::Command describeChat(ChatArguments& arguments) {
  std::vector<cli::Option> options = {
      cli::text("--system", "TEXT", "the system message", arguments.system),
      {.name = "--chat-template-kwargs",
       .valueName = "JSON",
       .help = "variables of the chat template: '{\"enable_thinking\": false}'",
       .store =
           [&arguments](const cli::Given& given) {
             return storeVariables(given.value, arguments);
           }},
      adapterOption("answers use a single one, or the one that `/adapter` "
                    "names",
                    arguments.adapters)};
  for (cli::Option& each : describeSampling(arguments.sampling))
    options.push_back(std::move(each));
  return {.name = "chat",
          .synopsis = "DIR [options]",
          .summary = "talk with an exported model",
          .details =
              "Answers the messages that are typed, or come through a pipe, a "
              "line each; a backslash at the end of a line continues the "
              "message. DIR is a folder that a training exported "
              "(`export.hf`), or a Hugging Face directory of a library model. "
              "Messages are written by the folder's chat template.\n\n"
              "/reset begins a new conversation, /system TEXT sets the system "
              "message, /adapter NAME chooses an adapter, /exit ends. Ctrl-C "
              "stops an answer.",
          .options = std::move(options),
          .operands = {1, 1, "the model's directory", &arguments.directories,
                       /*takeAddresses=*/true},
          .check = [&arguments] { return checkSystem(arguments); }};
}

} // namespace

cli::Command chatCommand() {
  const auto arguments = std::make_shared<ChatArguments>();
  cli::Command command = describeChat(*arguments);
  command.run = [arguments] { return runChat(*arguments); };
  return command;
}

} // namespace reciperun::serve
