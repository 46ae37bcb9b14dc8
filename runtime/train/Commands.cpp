// Collects the commands of reciperun, dispatches to them and flushes their
// output.

#include "runtime/train/Commands.h"

#include "runtime/cli/Help.h"
#include "runtime/cli/Read.h"
#include "runtime/cli/Spelling.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/bench/BenchCommand.h"
#include "runtime/serve/commands/ChatCommand.h"
#include "runtime/serve/commands/GenerateCommand.h"
#include "runtime/train/Exceptions.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace reciperun::train {
namespace {

std::string versionText() {
  const std::string gpus = exec::gpuNames();
  return "reciperun " RECIPERUN_VERSION ", plans of version " +
         std::to_string(plan::majorVersion) + "." +
         std::to_string(plan::minorVersion) + ", kernels for CPUs " +
         (gpus.empty() ? "alone" : "and GPUs of compute capability " + gpus) +
         "\n";
}

/// An option that other programs have, and what to do here.
struct ForeignOption {
  std::string_view command, option, help;
};

constexpr std::string_view resumes =
    "the recipe says what a run goes on from: `recipec run FILE --set "
    "'checkpoint.resume=\"PATH\"'`";
constexpr std::string_view isCompiled =
    "the settings of a plan are fixed: `recipec run FILE --set PATH=VALUE` "
    "compiles the recipe with others";

constexpr ForeignOption foreignOptions[] = {
    {"train", "--resume", resumes},
    {"train", "--resume-from-checkpoint", resumes},
    {"train", "--resume_from_checkpoint", resumes},
    {"train", "--checkpoint", resumes},
    {"train", "--ckpt", resumes},
    {"train", "--load", resumes},
    {"train", "--set", isCompiled},
    {"train", "--config", isCompiled},
    {"train", "--lr", isCompiled},
    {"train", "--steps", isCompiled},
    {"train", "--max-steps", isCompiled},
    {"train", "--epochs", isCompiled},
    {"train", "--batch-size", isCompiled},
    {"eval", "--set", isCompiled},
    {"eval", "--ckpt", "that is `--checkpoint` here"},
    {"eval", "--load", "that is `--checkpoint` here"},
    {"eval", "--model", "that is `--checkpoint` here"},
    {"eval", "--weights", "that is `--checkpoint` here"},
    {"generate", "--max-length", "that is `--max-tokens` here"},
    {"generate", "--max-new-tokens", "that is `--max-tokens` here"},
    {"generate", "--max_new_tokens", "that is `--max-tokens` here"},
    {"generate", "--input", "that is `--prompt` here"},
    {"generate", "--model", "the model's folder is the first argument"},
    {"generate", "--checkpoint",
     "name the folder of an exported model as the first argument; `reciperun "
     "convert CHECKPOINT DIR` writes one"},
    {"chat", "--prompt", "messages come from the terminal, or through a pipe"},
    {"chat", "--max-length", "that is `--max-tokens` here"},
    {"chat", "--max-new-tokens", "that is `--max-tokens` here"},
    {"chat", "--model", "the model's folder is the first argument"},
    {"chat", "--system-prompt", "that is `--system` here"},
    {"convert", "--format", "that is `--to` here"},
    {"convert", "--output", "the target is the second argument"},
    {"prune", "--keep-best", "that is `--keep-top` here"},
};

std::string advise(const cli::Command& command,
                   const cli::UnknownOption& option) {
  std::string name = option.name;
  std::replace(name.begin(), name.end(), '_', '-');
  for (const ForeignOption& each : foreignOptions)
    if (each.command == command.name &&
        (each.option == option.name || each.option == name))
      return std::string(each.help);
  std::vector<std::string> own;
  for (const cli::Option& each : command.options)
    own.push_back(each.name);
  // What `train` lacks, if it is no slip, is a setting of the recipe.
  const bool isSetting = command.name == "train" && name.starts_with("--") &&
                         !cli::nearest(name, own) && name != "--help";
  return isSetting ? std::string(isCompiled) : std::string();
}

std::vector<cli::ForeignCommand> foreignCommands() {
  return {{"run", "recipec run"},
          {"check", "recipec check"},
          {"plan", "recipec plan"},
          {"estimate", "recipec estimate"},
          {"launch", "mpirun -np N reciperun train PLAN"},
          {"torchrun", "mpirun -np N reciperun train PLAN"},
          {"start", "reciperun train"},
          {"pretrain", "reciperun train"},
          {"finetune", "reciperun train"},
          {"sft", "reciperun train"},
          {"evaluate", "reciperun eval"},
          {"test", "reciperun eval"},
          {"validate", "reciperun eval"},
          {"infer", "reciperun generate"},
          {"inference", "reciperun generate"},
          {"predict", "reciperun generate"},
          {"export", "reciperun convert"},
          {"merge", "reciperun convert"},
          {"list", "reciperun checkpoint list"},
          {"ls", "reciperun checkpoint list"},
          {"verify", "reciperun checkpoint verify"},
          {"prune", "reciperun checkpoint prune"},
          {"diff", "reciperun checkpoint diff"},
          {"benchmark", "reciperun bench serve"},
          {"throughput", "reciperun bench serve"},
          {"version", "reciperun --version"},
          {"resume", "", std::string(resumes)},
          {"serve", "",
           "there is no server: `reciperun generate DIR --prompt TEXT` answers "
           "prompts"}};
}

/// The remedy where a plan or a recipe stands in place of the command.
std::string adviseCommand(const std::string& word) {
  if (word.ends_with(".json"))
    return "a plan is carried out with `mpirun -np N reciperun train " + word +
           "`";
  if (word.find(".recipe") != word.npos)
    return "a recipe is compiled and carried out with `recipec run " + word +
           "`";
  return {};
}

/// Refuses `parallel.tp=2` behind a plan.
cli::Check refuseSetting(const cli::Command& command,
                         const std::string& operand) {
  const size_t colon = operand.find(".recipe:");
  if (colon != operand.npos && command.name == "train")
    return cli::UsageError{"`" + operand + "` is a recipe, and not a plan",
                           "run it with `recipec run " + operand + "`"};
  const size_t equals = operand.find('=');
  const bool isSetting = equals != operand.npos && equals > 0 &&
                         operand.find('/') == operand.npos &&
                         (command.name == "train" || command.name == "eval");
  if (!isSetting)
    return std::nullopt;
  return cli::UsageError{"`" + operand + "` is a setting, not a plan",
                         std::string(isCompiled)};
}

cli::Program describeProgram() {
  return {.name = "reciperun",
          .purpose = "Carries out the plans that recipec compiles.",
          .notes = "Exit codes: 0 done, 1 failed, 2 wrong usage, 128 + n ended "
                   "by signal n after the step in progress.",
          .commands = {trainCommand(), evalCommand(), serve::generateCommand(),
                       serve::chatCommand(), serve::benchCommand(),
                       convertCommand(), checkpointCommand()},
          .foreignCommands = foreignCommands(),
          .version = versionText,
          .advise = advise,
          .adviseCommand = adviseCommand,
          .refuseOperand = refuseSetting};
}

int dispatch(const std::vector<std::string>& arguments) {
  const cli::Program program = describeProgram();
  if (arguments.empty()) {
    std::fputs(cli::helpOf(program).c_str(), stderr);
    return 2;
  }
  const cli::Reading reading = cli::read(program, arguments);
  const cli::Command* command = reading.command;
  if (reading.error && command && command->refuse)
    return command->refuse(*reading.error);
  if (reading.error) {
    std::fputs(cli::toText(*reading.error).c_str(), stderr);
    return 2;
  }
  if (reading.text.empty())
    return command->run();
  std::fputs(reading.text.c_str(), stdout);
  return 0;
}

/// Flushes stdout. Returns `code`, or 1 when the output could not be written
/// and `code` is 0.
int finishOutput(int code) {
  errno = 0;
  const bool isWritten = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (isWritten)
    return code;
  std::fprintf(stderr, "error: cannot write to standard output: %s\n",
               std::strerror(errno ? errno : EIO));
  return code ? code : 1;
}

} // namespace

int runCommand(const std::vector<std::string>& arguments) {
  reportExceptionsOfThreads();
  try {
    return finishOutput(dispatch(arguments));
  } catch (...) {
    std::fprintf(stderr, "error: %s\n", statusOfException().message().c_str());
    return 1;
  }
}

} // namespace reciperun::train
