// The table of subcommands and the reading of their arguments.
//
// 1. Find the subcommand; `--help` and `--version` work without one.
// 2. Read options by the subcommand's list, positional arguments between them.
// 3. Check the number of positional arguments, then call the subcommand.
// Whatever is wrong up to here is a usage error: exit code 2.

#include "compiler/driver/Driver.h"

#include "compiler/diag/Diagnostic.h"
#include "compiler/diag/Render.h"
#include "compiler/driver/LibraryIndex.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <ostream>

namespace recipec::driver {
namespace {

constexpr std::string_view version = "0.1.0";
constexpr size_t anyNumber = std::numeric_limits<size_t>::max();

struct Option {
  OptionId id;
  std::string_view name;      // `--set`
  std::string_view shortName; // `-o`, or empty
  std::string_view valueName; // empty: the option takes no value
  std::string_view help;
};

constexpr Option optionTable[] = {
    {OptionId::set, "--set", "", "PATH=VALUE",
     "set a field of the recipe; may be repeated"},
    {OptionId::emit, "--emit", "", "KIND",
     "what to print: tokens, ast, recipe, dataflow, graph, program, "
     "schedule, memory or plan"},
    {OptionId::output, "--output", "-o", "OUT",
     "write to the file OUT instead of standard output, which is `-`; into a "
     "folder, a file each, where OUT is one or ends in `/`"},
    {OptionId::json, "--json", "", "", "print JSON"},
    {OptionId::checkOnly, "--check", "", "",
     "change nothing; exit 1 where a file would change"},
    {OptionId::fix, "--fix", "", "",
     "correct in the files what is surely a slip, then check"},
    {OptionId::folder, "--folder", "", "DIR",
     "relative paths of the recipe start in DIR instead of the recipe's "
     "folder"},
    {OptionId::noFiles, "--no-files", "", "",
     "do not look for data, tokenizer and weights"},
    {OptionId::maxErrors, "--max-errors", "", "N",
     "print at most N errors of a file, 50 if not given; `all` prints all"},
    {OptionId::progress, "--progress", "", "STYLE",
     "`bar`, `lines`, or `auto` (default): a bar on a terminal"},
    {OptionId::hostfile, "--hostfile", "", "FILE",
     "the hosts to run on, as mpirun reads them"},
};

const Option& optionOf(OptionId id) {
  return *std::find_if(std::begin(optionTable), std::end(optionTable),
                       [&](const Option& option) { return option.id == id; });
}

void printOption(std::ostream& out, std::string left, std::string_view help) {
  constexpr size_t column = 24;
  left.resize(std::max(left.size() + 2, column), ' ');
  out << "  " << left << help << '\n';
}

void printOverview(std::ostream& out) {
  out << "usage: recipec COMMAND ARGUMENTS\n\n"
         "Compiles a recipe for training a language model into a plan.\n\n"
         "commands:\n";
  for (const Command& command : commands())
    printOption(out, std::string(command.name), command.summary);
  out << "\nA recipe is named by its file, or by FILE:NAME where a file holds "
         "several; a point\nof its sweep by FILE:NAME@PATH=VALUE. `std/...` is "
         "a file of the standard library.\nSee `recipec COMMAND --help`.\n";
}

void printHelp(const Command& command, std::ostream& out) {
  out << "usage: recipec " << command.name << ' ' << command.synopsis << "\n\n"
      << command.details << "\n\noptions:\n";
  for (OptionId id : command.options) {
    const Option& option = optionOf(id);
    std::string left(option.name);
    if (!option.shortName.empty())
      left = std::string(option.shortName) + ", " + left;
    if (!option.valueName.empty())
      left += "=" + std::string(option.valueName);
    printOption(out, left, option.help);
  }
  printOption(out, "-h, --help", "print this text");
}

/// A usage error: one line, a way out, exit code 2.
int usageError(std::ostream& err, const std::string& message,
               const std::string& help) {
  err << "error: " << message << '\n';
  if (!help.empty())
    err << "help: " << help << '\n';
  return exitUsage;
}

std::string suggestion(std::string_view name,
                       const std::vector<std::string>& candidates,
                       const std::string& otherwise) {
  if (auto near = diag::didYouMean(name, candidates))
    return "did you mean `" + *near + "`?";
  return otherwise;
}

/// Reads the arguments of one subcommand into an Invocation.
class ArgumentReader {
public:
  ArgumentReader(const Command& command, Invocation& invocation)
      : command(command), invocation(invocation) {}

  bool wantsHelp = false;

  /// Gives the exit code of a usage error, or none when all is well.
  std::optional<int> read(const std::vector<std::string>& arguments,
                          size_t first);

private:
  const Option* find(std::string_view name) const;
  int unknownOption(std::string_view name) const;
  std::optional<int> store(const Option& option, const std::string& value);
  std::optional<int> storeMaxErrors(const std::string& value);
  std::optional<int> checkInputs() const;
  std::string seeHelp() const {
    return "see `recipec " + std::string(command.name) + " --help`";
  }

  const Command& command;
  Invocation& invocation;
  std::vector<OptionId> given;
};

const Option* ArgumentReader::find(std::string_view name) const {
  for (OptionId id : command.options) {
    const Option& option = optionOf(id);
    if (name == option.name || (name == option.shortName && !name.empty()))
      return &option;
  }
  return nullptr;
}

/// The setting that another tool has as an option, `--tensor-parallel-size`;
/// empty where none is known.
std::string settingKnownAs(std::string_view option) {
  std::string name(
      option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::replace(name.begin(), name.end(), '-', '_');
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  return LibraryIndex(loader).settingOf(name);
}

/// Whether the text is a dotted path, `parallel.tp`.
bool isPath(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '.';
         });
}

/// Whether an argument is neither an option nor a recipe.
bool isSettingsValue(std::string_view argument) {
  return !argument.empty() && !argument.starts_with('-') &&
         argument.find(".recipe") == std::string_view::npos;
}

int ArgumentReader::unknownOption(std::string_view name) const {
  std::vector<std::string> names = {"--help"};
  for (OptionId id : command.options)
    names.emplace_back(optionOf(id).name);
  if (std::string path = settingKnownAs(name); !path.empty())
    return usageError(invocation.err,
                      "`recipec " + std::string(command.name) +
                          "` has no option `" + std::string(name) + "`",
                      "a setting is given as `--set " + path + "=VALUE`");
  std::string help = suggestion(name, names, seeHelp());
  if (command.launches && (name == "-np" || name == "-n" || name == "--np"))
    help = "the recipe sets the number of ranks: `--set cluster.ranks=N`; pass "
           "other options of mpirun behind `--`";
  for (const Command& other : commands())
    for (OptionId id : other.options)
      if (optionOf(id).name == name && &other != &command)
        help = "that is an option of `recipec " + std::string(other.name) + "`";
  return usageError(invocation.err,
                    "`recipec " + std::string(command.name) +
                        "` has no option `" + std::string(name) + "`",
                    help);
}

std::optional<int> ArgumentReader::store(const Option& option,
                                         const std::string& value) {
  bool again = std::find(given.begin(), given.end(), option.id) != given.end();
  if (again && option.id != OptionId::set)
    return usageError(invocation.err,
                      "`" + std::string(option.name) + "` is given twice", "");
  given.push_back(option.id);
  switch (option.id) {
  case OptionId::set:
    invocation.sets.push_back(value);
    break;
  case OptionId::json:
    invocation.json = true;
    break;
  case OptionId::output:
    invocation.output = value;
    break;
  case OptionId::emit:
    invocation.emit = value;
    break;
  case OptionId::checkOnly:
    invocation.checkOnly = true;
    break;
  case OptionId::fix:
    invocation.fix = true;
    break;
  case OptionId::noFiles:
    invocation.noFiles = true;
    break;
  case OptionId::folder:
    invocation.folder = value;
    break;
  case OptionId::maxErrors:
    return storeMaxErrors(value);
  case OptionId::progress:
    invocation.progress = value;
    break;
  case OptionId::hostfile:
    invocation.hostfile = value;
    break;
  }
  return std::nullopt;
}

std::optional<int> ArgumentReader::storeMaxErrors(const std::string& value) {
  size_t& most = invocation.mostErrors;
  const char* end = value.data() + value.size();
  auto [last, error] = std::from_chars(value.data(), end, most);
  if (value == "all")
    most = diag::noLimit;
  else if (error != std::errc() || last != end || most == 0)
    return usageError(invocation.err,
                      "`--max-errors` is a number of at least 1 or `all`, not "
                      "`" +
                          value + "`",
                      seeHelp());
  return std::nullopt;
}

std::optional<int> ArgumentReader::checkInputs() const {
  size_t count = invocation.inputs.size();
  if (count < command.fewestInputs)
    return usageError(invocation.err,
                      "`recipec " + std::string(command.name) + "` needs " +
                          std::string(command.needs),
                      "usage: recipec " + std::string(command.name) + " " +
                          std::string(command.synopsis));
  if (count > command.mostInputs)
    return usageError(
        invocation.err,
        "`recipec " + std::string(command.name) + "` takes " +
            std::to_string(command.mostInputs) +
            (command.mostInputs == 1 ? " argument" : " arguments") + ", not " +
            std::to_string(count) + ": `" +
            invocation.inputs[command.mostInputs] + "` is too many",
        seeHelp());
  return std::nullopt;
}

std::optional<int>
ArgumentReader::read(const std::vector<std::string>& arguments, size_t first) {
  bool optionsEnded = false;
  for (size_t i = first; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!optionsEnded && argument == "--") {
      optionsEnded = true;
      if (!command.launches)
        continue;
      invocation.launcher.assign(arguments.begin() + ptrdiff_t(i) + 1,
                                 arguments.end());
      break;
    }
    if (optionsEnded || argument.size() < 2 || argument[0] != '-') {
      invocation.inputs.push_back(argument);
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      wantsHelp = true;
      return std::nullopt;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    const Option* option = find(name);
    if (!option)
      return unknownOption(name);
    std::string value;
    bool takesValue = !option->valueName.empty();
    if (!takesValue && equals != std::string::npos)
      return usageError(invocation.err, "`" + name + "` takes no value",
                        seeHelp());
    if (takesValue && equals != std::string::npos)
      value = argument.substr(equals + 1);
    else if (takesValue && i + 1 < arguments.size())
      value = arguments[++i];
    const std::string next =
        i + 1 < arguments.size() ? arguments[i + 1] : std::string();
    if (option->id == OptionId::set && isPath(value) && isSettingsValue(next))
      return usageError(invocation.err,
                        "`--set` takes PATH=VALUE, and `" + value +
                            "` has no value",
                        "write `--set " + value + "=" + next + "`");
    if (takesValue && value.empty())
      return usageError(invocation.err, "`" + name + "` needs a value",
                        "write `" + name + "=" +
                            std::string(option->valueName) + "`");
    if (auto code = store(*option, value))
      return code;
  }
  return checkInputs();
}

const Command* findCommand(std::string_view name) {
  for (const Command& command : commands())
    if (command.name == name)
      return &command;
  return nullptr;
}

/// Commands of other programs.
struct ForeignCommand {
  std::string_view name, own;
};
constexpr ForeignCommand foreignCommands[] = {
    {"train", "recipec run"},           {"launch", "recipec run"},
    {"start", "recipec run"},           {"pretrain", "recipec run"},
    {"finetune", "recipec run"},        {"compile", "recipec plan"},
    {"build", "recipec plan"},          {"lint", "recipec check"},
    {"validate", "recipec check"},      {"verify", "recipec check"},
    {"profile", "recipec estimate"},    {"predict", "recipec estimate"},
    {"help", "recipec --help"},         {"version", "recipec --version"},
    {"generate", "reciperun generate"}, {"convert", "reciperun convert"},
    {"export", "reciperun convert"},    {"resume", "recipec run"},
};

int unknownCommand(const std::string& name, std::ostream& err) {
  std::vector<std::string> names;
  for (const Command& command : commands())
    names.emplace_back(command.name);
  for (const ForeignCommand& foreign : foreignCommands)
    if (foreign.name == name)
      return usageError(err, "there is no command `" + name + "`",
                        "that is `" + std::string(foreign.own) + "`");
  return usageError(err, "there is no command `" + name + "`",
                    suggestion(name, names, "see `recipec --help`"));
}

} // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"check",
       "FILE[:NAME]... [options]",
       "parse, type-check and plan memory; exit 0 when launchable",
       "Compiles each recipe as `plan` would and prints what is wrong with it. "
       "Exits 0\nwhen every recipe can be launched, 1 with diagnostics. FILE "
       "alone is every recipe,\nevery point of their sweeps, and what else the "
       "file declares. With --fix, what is\nsurely a slip is corrected in the "
       "files first: misspelt names, those of other tools,\nquotation marks, "
       "characters that look like others.\n\n"
       "Data, tokenizer and weights are looked for where the run would look: "
       "relative\npaths start in the recipe's folder. What is missing, or what "
       "the first MiB shows\nto be unfit, is an error where the recipe is for "
       "this machine (CPUs, or GPUs where\nthere are any), and a warning where "
       "`cluster.hardware` is another's.",
       {OptionId::set, OptionId::json, OptionId::fix, OptionId::folder,
        OptionId::noFiles, OptionId::maxErrors},
       1,
       anyNumber,
       runCheck},
      {"plan",
       "FILE[:NAME] [options]",
       "compile a recipe into a plan, or print any stage of it",
       "Compiles a recipe and prints the plan as JSON, or with --emit what an "
       "earlier\nphase made. With --output=DIR/, the points of a sweep are "
       "written to files of\ntheir names.\n\n"
       "FILE may be a Hugging Face directory whose model is of the standard "
       "library: the\nrecipe is made of its config.json, and the plan "
       "generates "
       "from it.\n\n"
       "Relative paths start in the recipe's folder. The plan knows the way "
       "there from\nits own file, or on standard output from the working "
       "folder, so that plan and data\ncan be moved together.",
       {OptionId::emit, OptionId::output, OptionId::set, OptionId::folder,
        OptionId::noFiles, OptionId::maxErrors},
       1,
       1,
       runPlan},
      {"estimate",
       "FILE[:NAME] [options]",
       "predict memory; bound step time, throughput and MFU",
       "Prints the memory of a rank by category, and by a roofline what a step "
       "can reach:\nits time at least, throughput and MFU at most. Of a sweep, "
       "a line a point.",
       {OptionId::set, OptionId::json, OptionId::maxErrors},
       1,
       1,
       runEstimate},
      {"run",
       "FILE[:NAME] [options] [-- MPIRUN-OPTIONS]",
       "compile a recipe and launch it with mpirun",
       "Compiles a recipe, writes the plan to `train.dir`/plan.json and "
       "launches\n`mpirun reciperun train` on it. Exits as the run does. The "
       "points of a sweep run\none after another, and a table compares them at "
       "the end. Relative paths start in\nthe recipe's folder. What stands "
       "behind `--` goes to mpirun: `recipec run FILE\n--hostfile=HOSTS -- "
       "--map-by node`.",
       {OptionId::set, OptionId::folder, OptionId::progress, OptionId::hostfile,
        OptionId::maxErrors},
       1,
       1,
       runRun,
       "a file",
       true},
      {"fmt",
       "FILE... [options]",
       "format recipes in the one style",
       "Rewrites each file in the one style.",
       {OptionId::checkOnly, OptionId::maxErrors},
       1,
       anyNumber,
       runFmt},
      {"explain",
       "KIND | FILE[:NAME] PATH [options]",
       "explain a diagnostic, or where a value came from",
       "Explains the diagnostic that prints KIND in brackets; or says of the "
       "value at\nPATH (`parallel.dp`) what it is, its type, how it came "
       "about, and what was\noverridden.",
       {OptionId::set, OptionId::json, OptionId::maxErrors},
       1,
       2,
       runExplain,
       "a kind, or a file and a path"},
      {"doc",
       "[FILE | NAME | models]",
       "print documentation made from `##` comments",
       "Prints Markdown: of FILE; of NAME, an op, a function, a model, a "
       "schema "
       "or a field as\na recipe writes it (`attention`, `sum`, `llama3_8b`, "
       "`lora`, `parallel.tp`,\n`std.schema.batch`); a table of the `models`; "
       "or without an argument the whole\nstandard library.",
       {},
       0,
       1,
       runDoc},
  };
  return table;
}

int run(std::string_view program, const std::vector<std::string>& arguments,
        std::ostream& out, std::ostream& err) {
  if (arguments.empty()) {
    printOverview(err);
    return exitUsage;
  }
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h" || first == "help") {
    printOverview(out);
    return exitSuccess;
  }
  if (first == "--version") {
    out << "recipec " << version << '\n';
    return exitSuccess;
  }
  const Command* command = findCommand(first);
  if (!command)
    return unknownCommand(first, err);

  Invocation invocation{.inputs = {},
                        .sets = {},
                        .output = {},
                        .emit = {},
                        .folder = {},
                        .progress = {},
                        .hostfile = {},
                        .launcher = {},
                        .program = program,
                        .out = out,
                        .err = err};
  ArgumentReader reader(*command, invocation);
  if (auto code = reader.read(arguments, 1))
    return *code;
  if (reader.wantsHelp) {
    printHelp(*command, out);
    return exitSuccess;
  }
  return command->run(invocation);
}

} // namespace recipec::driver
