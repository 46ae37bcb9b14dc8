// Tables of commands and options of other programs, and how to write such
// options with `--set`.

#include "compiler/driver/ForeignUsage.h"

#include "compiler/driver/LibraryIndex.h"
#include "runtime/base/Shell.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace recipec::driver {
namespace {

constexpr std::string_view resumes =
    "the recipe says what a run goes on from: `--set "
    "'checkpoint.resume=\"auto\"'`, or the path of a checkpoint";
constexpr std::string_view isRanks =
    "the recipe sets the number of ranks: `--set cluster.ranks=N`; pass other "
    "options of mpirun behind `--`";
constexpr std::string_view isDryRun =
    "`recipec check FILE` finds what is wrong without running, and `recipec "
    "estimate FILE` predicts memory and time";

constexpr std::string_view looksForNone =
    "this command does not look for data, tokenizer and weights: leave it out";

/// An option of another program, and what to do instead. With an empty
/// `command` it applies to all commands.
struct ForeignOption {
  std::string_view command, option, help;
};

constexpr ForeignOption foreignOptions[] = {
    {"", "--resume", resumes},
    {"", "--resume-from-checkpoint", resumes},
    {"", "--resume_from_checkpoint", resumes},
    {"run", "--max-restarts", "that is `--restarts=N` here"},
    {"run", "--dry-run", isDryRun},
    {"run", "--dryrun", isDryRun},
    {"run", "--check", isDryRun},
    {"run", "-np", isRanks},
    {"run", "--np", isRanks},
    {"run", "-n", isRanks},
    {"plan", "--format", "that is `--emit=KIND`; a plan is JSON"},
    {"plan", "--json", "a plan is JSON: leave it out"},
    {"fmt", "-w", "`fmt` writes the files: leave it out"},
    {"fmt", "-i", "`fmt` writes the files: leave it out"},
    {"fmt", "--write", "`fmt` writes the files: leave it out"},
    {"fmt", "--in-place", "`fmt` writes the files: leave it out"},
    {"fmt", "--diff",
     "`recipec fmt --check FILE` says whether it would change"},
    {"", "-f", "the file is an argument: leave `-f` out"},
    {"", "--file", "the file is an argument: leave `--file` out"},
    {"", "--config", "the file is an argument: leave `--config` out"},
    {"", "-c", "the file is an argument: leave `-c` out"},
    {"", "--config-file", "the file is an argument: leave `--config-file` out"},
    {"", "--recipe", "a recipe is named behind its file: `FILE:NAME`"},
    {"", "--name", "a recipe is named behind its file: `FILE:NAME`"},
    {"", "--override", "that is `--set PATH=VALUE` here"},
    {"", "--var", "that is `--set PATH=VALUE` here"},
    {"", "-var", "that is `--set PATH=VALUE` here"},
    {"", "-D", "that is `--set PATH=VALUE` here"},
    {"", "-s", "that is `--set PATH=VALUE` here"},
    {"", "-p", "that is `--set PATH=VALUE` here"},
    {"", "-e", "that is `--set PATH=VALUE` here"},
    {"", "-v", "there is none: messages always say all; leave it out"},
    {"", "--verbose", "there is none: messages always say all; leave it out"},
    {"", "--debug", "there is none: messages always say all; leave it out"},
    {"", "--strict",
     "there is none: whatever is wrong is an error; leave it "
     "out"},
    {"check", "--emit", "that is an option of `recipec plan`"},
    {"estimate", "--no-files", looksForNone},
    {"explain", "--no-files", looksForNone},
    {"doc", "--no-files", looksForNone},
    {"fmt", "--no-files", looksForNone},
};

/// Options of mpirun for which a recipe has no setting.
constexpr std::string_view launcherOptions[] = {"--map-by",
                                                "--mca",
                                                "--bind-to",
                                                "--rank-by",
                                                "--host",
                                                "--hostfile",
                                                "--machinefile",
                                                "--oversubscribe",
                                                "--use-hwthread-cpus",
                                                "--allow-run-as-root",
                                                "--report-bindings",
                                                "--tag-output",
                                                "--prefix",
                                                "--npernode",
                                                "--ppr",
                                                "--wdir",
                                                "--output-filename",
                                                "-x",
                                                "-H",
                                                "-hostfile",
                                                "-mca",
                                                "-bind-to",
                                                "-map-by"};

/// Converts the name of an option to that of a field: `tensor_parallel_size`.
std::string nameOf(const std::string& option) {
  std::string name =
      option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

bool isDottedName(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '.';
         });
}

std::optional<Setting> settingFor(const std::string& name,
                                  const std::string& value) {
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  const LibraryIndex index(loader);
  auto known = index.settingFor(name, value);
  // Look up `trainer.devices` by its last name, too.
  const size_t dot = name.rfind('.');
  if (!known && dot != name.npos)
    known = index.settingFor(name.substr(dot + 1), value);
  return known;
}

bool takesSettings(const cli::Command& command) {
  return std::ranges::any_of(command.options, [](const cli::Option& each) {
    return each.name == "--set";
  });
}

std::string derived(const Setting& setting) {
  return "that is `" + setting.path + "` here, which is derived as `" +
         setting.derivation + "`: set what it follows with `--set`";
}

} // namespace

std::vector<cli::ForeignCommand> foreignCommands() {
  const std::string isWritten =
      "a recipe is a file that you write: `recipec doc std.schema.recipe` "
      "lists its settings";
  return {{"train", "recipec run"},
          {"launch", "recipec run"},
          {"start", "recipec run"},
          {"pretrain", "recipec run"},
          {"finetune", "recipec run"},
          {"fine-tune", "recipec run"},
          {"sft", "recipec run"},
          {"lora", "recipec run"},
          {"resume", "recipec run"},
          {"apply", "recipec run"},
          {"up", "recipec run"},
          {"exec", "recipec run"},
          {"submit", "recipec run"},
          {"sweep", "recipec run"},
          {"torchrun", "recipec run"},
          {"mpirun", "recipec run"},
          {"compile", "recipec plan"},
          {"build", "recipec plan"},
          {"emit", "recipec plan"},
          {"lint", "recipec check"},
          {"validate", "recipec check"},
          {"verify", "recipec check"},
          {"fix", "recipec check --fix"},
          {"format", "recipec fmt"},
          {"profile", "recipec estimate"},
          {"predict", "recipec estimate"},
          {"memory", "recipec estimate"},
          {"estimate-memory", "recipec estimate"},
          {"config", "recipec plan FILE --emit=recipe"},
          {"show", "recipec plan FILE --emit=recipe"},
          {"print", "recipec plan FILE --emit=recipe"},
          {"get", "recipec explain FILE PATH"},
          {"inspect", "recipec explain FILE PATH"},
          {"docs", "recipec doc"},
          {"man", "recipec doc"},
          {"models", "recipec doc models"},
          {"version", "recipec --version"},
          {"generate", "reciperun generate"},
          {"infer", "reciperun generate"},
          {"inference", "reciperun generate"},
          {"chat", "reciperun chat"},
          {"eval", "reciperun eval"},
          {"evaluate", "reciperun eval"},
          {"test", "reciperun eval"},
          {"convert", "reciperun convert"},
          {"export", "reciperun convert"},
          {"merge", "reciperun convert"},
          {"checkpoint", "reciperun checkpoint"},
          {"init", "", isWritten},
          {"new", "", isWritten},
          {"create", "", isWritten},
          {"autotune", "recipec tune"},
          {"search", "recipec tune"},
          {"optimize", "recipec tune"},
          {"plan-parallelism", "recipec tune"},
          {"scaling", "recipec scale"}};
}

std::string adviseCommand(const std::string& word) {
  const std::string file = word.substr(0, word.rfind(".recipe") + 7);
  if (word.find(".recipe") != word.npos && file.size() <= word.size())
    return "what should become of it? `recipec check " + word +
           "` or `recipec run " + word + "`";
  if (word.ends_with(".json"))
    return "a plan is carried out with `mpirun -np N reciperun train " + word +
           "`";
  return {};
}

std::string adviseOption(const cli::Command& command,
                         const cli::UnknownOption& option) {
  for (const ForeignOption& each : foreignOptions)
    if (each.option == option.name &&
        (each.command.empty() || each.command == command.name))
      return std::string(each.help);
  if (command.name == "run" &&
      std::count(std::begin(launcherOptions), std::end(launcherOptions),
                 option.name))
    return "options of mpirun stand behind `--`: `recipec run FILE -- " +
           option.name + (option.value.empty() ? "" : " " + option.value) +
           " ...`";
  const auto setting = settingFor(nameOf(option.name), option.value);
  if (!setting)
    return {};
  if (!setting->derivation.empty())
    return derived(*setting);
  return "a setting is given as `--set " +
         reciperun::shellWord(setting->path + "=" + setting->value) + "`";
}

std::string adviseOtherOption(const cli::Command& command,
                              const cli::UnknownOption& option) {
  if (!takesSettings(command))
    return {};
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  const auto near = LibraryIndex(loader).nearestSettings(nameOf(option.name));
  if (near.empty())
    return {};
  return "a setting is given as `--set PATH=VALUE`; " + listed(near);
}

std::string adviseSurplus(const cli::Command& command,
                          const std::vector<std::string>& operands) {
  std::error_code ignored;
  const bool isName = operands.size() == 2 && isDottedName(operands[1]) &&
                      operands[1].find('.') == std::string::npos &&
                      operands[0].ends_with(".recipe") &&
                      !std::filesystem::exists(operands[1], ignored);
  if (!isName)
    return {};
  return "a recipe is named behind its file: `recipec " + command.name + " " +
         operands[0] + ":" + operands[1] + "`";
}

cli::Check refuseSetting(const cli::Command& command,
                         const std::string& operand) {
  std::string setting =
      operand.substr(std::min(operand.find_first_not_of("+~"), operand.size()));
  const size_t equals = setting.find('=');
  std::error_code ignored;
  if (!takesSettings(command) || equals == setting.npos ||
      !isDottedName(std::string_view(setting).substr(0, equals)) ||
      std::filesystem::exists(operand, ignored))
    return std::nullopt;
  if (command.name == "explain")
    return cli::UsageError{"`" + operand + "` is a setting, not a path",
                           "name it without a value: `recipec explain FILE " +
                               setting.substr(0, equals) + "`"};
  const std::string message = "`" + operand + "` is a setting, not a file";
  const auto known =
      settingFor(setting.substr(0, equals), setting.substr(equals + 1));
  if (known && !known->derivation.empty())
    return cli::UsageError{message, derived(*known)};
  if (known)
    setting = known->path + "=" + known->value;
  return cli::UsageError{message,
                         "write `--set " + reciperun::shellWord(setting) + "`"};
}

} // namespace recipec::driver
