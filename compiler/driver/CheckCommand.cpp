// `recipec check FILE...`: everything except writing the plan.
//
// `--fix` applies the safe fix-its to the user's files and checks the result
// again, until nothing changes.

#include "compiler/driver/Commands.h"

#include "compiler/diag/Render.h"
#include "compiler/driver/Fixes.h"
#include "compiler/driver/Inputs.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/RunFolders.h"
#include "runtime/cli/Options.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace recipec::driver {
namespace {

/// A recipe, or a point of its sweep, that can be launched.
struct Launchable {
  std::string name;
  cost::Estimate estimate;
};

/// Compiles the selected recipe and checks its inputs. Returns nullopt with
/// diagnostics.
std::optional<Launchable> checkSelected(Session& session,
                                        const Invocation& invocation,
                                        RunFolders& folders) {
  // An error in one recipe does not keep the others from being checked.
  diag::Engine engine;
  std::optional<Launchable> result;
  auto compilation = compile(session, engine, {}, Verification::none);
  auto plan = compilation ? makePlan(session, engine, *compilation)
                          : std::optional<reciperun::plan::Plan>();
  if (plan && !invocation.noFiles)
    lookForInputs(session, engine, compilation->recipe, *plan,
                  isForThisMachine(compilation->recipe));
  if (plan)
    folders.add(session.selected, compilation->recipe, engine);
  if (plan && !engine.hasErrors())
    result = {compilation->recipe.name, std::move(compilation->estimate)};
  session.take(engine);
  return result;
}

/// Checks all recipes and points that the target names. Errors go to the
/// session's engine.
std::vector<Launchable> check(Session& session, const Invocation& invocation) {
  std::vector<Launchable> found;
  if (!session.open(invocation.sets))
    return found;
  if (session.target.recipe.empty())
    session.checkDeclarations();
  auto selection = session.select(sema::Extent::file);
  if (!selection)
    return found;
  RunFolders folders;
  for (sema::Selection& each : *selection) {
    session.selected = std::move(each);
    auto launchable = checkSelected(session, invocation, folders);
    if (launchable && !session.selected.isBroken)
      found.push_back(std::move(*launchable));
  }
  return found;
}

/// A fix can uncover further errors. Ten rounds are enough in practice.
constexpr int mostFixRounds = 10;

/// Fixes the files of `input`. Returns false, with a message, if one cannot be
/// written.
bool fixFiles(const std::string& input, const Invocation& invocation) {
  std::ostream& log = invocation.json ? invocation.err : invocation.out;
  for (int round = 0; round < mostFixRounds; ++round) {
    Session session(input);
    check(session, invocation);
    session.arrange();
    std::vector<FixedFile> files =
        applySafeFixes(session.engine, session.sources);
    if (files.empty())
      break;
    for (const FixedFile& file : files) {
      if (!writeOutput(file.path, file.text, invocation.err))
        return false;
      for (const std::string& change : file.changes)
        log << "fixed " << change << '\n';
    }
  }
  return true;
}

void printSummary(const std::string& input, const Launchable& launchable,
                  std::ostream& out) {
  const cost::Estimate& estimate = launchable.estimate;
  const cost::MemoryTable& memory = estimate.memory;
  out << input << ": `" << launchable.name << "` can be launched on "
      << estimate.ranks << " rank" << (estimate.ranks == 1 ? "" : "s") << ", "
      << formatBytes(memory.total) << " of " << formatBytes(memory.capacity)
      << " each\n";
}

void printLibrary(const Session& session, std::ostream& out) {
  size_t count = session.file->declarations.size();
  out << session.target.file << ": no recipe to launch, " << count
      << (count == 1 ? " declaration" : " declarations") << " checked\n";
}

/// Reports `check FILE NAME` for `check FILE:NAME`.
bool reportRecipeAsFile(const std::string& name, const Invocation& invocation) {
  std::error_code ignored;
  if (name.find_first_of("./:") != name.npos ||
      std::filesystem::exists(name, ignored))
    return false;
  for (const std::string& input : invocation.inputs) {
    Session other(input);
    if (input == name || !other.open({}) ||
        !sema::findRecipe(*other.file, name))
      continue;
    invocation.err << "error: there is no file `" << name << "`; `" << input
                   << "` has a recipe of this name\nhelp: write `" << input
                   << ':' << name << "`\n";
    return true;
  }
  return false;
}

int runCheck(const Invocation& invocation) {
  using Json = nlohmann::ordered_json;
  int result = exitSuccess;
  Json diagnostics = Json::array();
  for (const std::string& input : invocation.inputs) {
    if (invocation.fix && !fixFiles(input, invocation))
      result = exitDiagnostics;
    if (reportRecipeAsFile(input, invocation)) {
      result = exitDiagnostics;
      continue;
    }
    Session session(input);
    if (!invocation.folder.empty())
      session.folder = invocation.folder;
    std::vector<Launchable> launchables = check(session, invocation);
    if (session.engine.hasErrors())
      result = exitDiagnostics;
    if (invocation.json) {
      session.arrange();
      diag::RenderOptions options;
      options.most = invocation.mostErrors;
      for (bool areWarnings : {false, true}) {
        options.areWarnings = areWarnings;
        for (Json& each : Json::parse(
                 diag::renderJson(areWarnings ? session.doubts : session.engine,
                                  session.sources, options)))
          diagnostics.push_back(std::move(each));
      }
      continue;
    }
    result = std::max(result, finish(session, invocation));
    for (const Launchable& launchable : launchables)
      printSummary(input, launchable, invocation.out);
    if (launchables.empty() && !session.engine.hasErrors())
      printLibrary(session, invocation.out);
  }
  if (invocation.json)
    invocation.out << diagnostics.dump(2) << '\n';
  return result;
}

} // namespace

cli::Command checkCommand(Invocation& invocation) {
  return {
      .name = "check",
      .synopsis = "FILE[:NAME]... [options]",
      .summary = "parse, type-check and plan memory; exit 0 when launchable",
      .details =
          "Compiles each recipe as `plan` would and prints what is wrong with "
          "it. Exits 0 when every recipe can be launched, 1 with diagnostics. "
          "FILE alone is every recipe, every point of their sweeps, and what "
          "else the file declares. With --fix, what is surely a slip is "
          "corrected in the files first: misspelt names, those of other tools, "
          "quotation marks, characters that look like others.\n\n"
          "Data, tokenizer and weights are looked for where the run would "
          "look: relative paths start in the recipe's folder. What is missing, "
          "or what the first MiB shows to be unfit, is an error where the "
          "recipe is for this machine (CPUs, or GPUs where there are any), and "
          "a warning where `cluster.hardware` is another's.",
      .options = {setOption(invocation), jsonOption(invocation),
                  cli::flag("--fix",
                            "correct in the files what is surely a slip, then "
                            "check",
                            invocation.fix),
                  folderOption(invocation), noFilesOption(invocation),
                  maxErrorsOption(invocation)},
      .operands = {1, cli::Operands::anyNumber, "a file", &invocation.inputs},
      .run = [&invocation] { return runCheck(invocation); }};
}

} // namespace recipec::driver
