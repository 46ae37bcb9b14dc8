// `recipec plan FILE [-o OUT] [--emit=KIND]`: the plan, or any stage before it.
//
// One function per kind produces its text and runs only the phases before it.
// If FILE is a Hugging Face directory, a recipe is made for it: see
// GeneratingRecipe. If OUT is a folder, every point of a recipe's sweep is
// written there.

#include "compiler/driver/Commands.h"

#include "compiler/ast/Print.h"
#include "compiler/driver/GeneratingRecipe.h"
#include "compiler/driver/Inputs.h"
#include "compiler/driver/MemoryFit.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/ScheduleReport.h"
#include "compiler/ir/Print.h"
#include "compiler/recipe/Print.h"
#include "runtime/base/Shell.h"
#include "runtime/cli/Options.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>

namespace recipec::driver {
namespace {

/// The text of a phase; nullopt with diagnostics.
using Text = std::optional<std::string>;

/// The part after the colon of `KIND:PART`; empty without a colon.
std::string_view partOf(std::string_view emit) {
  const size_t colon = emit.find(':');
  return colon == emit.npos ? std::string_view() : emit.substr(colon + 1);
}

Text emitTokens(Session& session, diag::Engine& engine, const Invocation&) {
  sema::Loaded::State state;
  SourceId source = session.loader.addSource(session.target.file, state);
  if (source == SourceId::none) {
    session.open({}); // reports the error
    return std::nullopt;
  }
  return parse::printTokens(session.sources, source, engine);
}

Text emitAst(Session& session, diag::Engine&, const Invocation&) {
  return ast::print(*session.file, session.sources);
}

Text emitRecipe(Session& session, diag::Engine& engine, const Invocation&) {
  auto recipe = evaluateRecipe(session, engine);
  if (!recipe)
    return std::nullopt;
  return recipe::printSettings(*recipe, session.sources);
}

Text emitDataflow(Session& session, diag::Engine& engine, const Invocation&) {
  auto recipe = evaluateRecipe(session, engine);
  if (!recipe)
    return std::nullopt;
  return recipe::printDataflow(*recipe, session.sources);
}

Text emitGraph(Session& session, diag::Engine& engine, const Invocation&) {
  auto recipe = evaluateRecipe(session, engine);
  if (!recipe)
    return std::nullopt;
  auto graph = makeGraph(*recipe, engine);
  if (!graph)
    return std::nullopt;
  return ir::print(*graph);
}

Text emitProgram(Session& session, diag::Engine& engine, const Invocation&) {
  auto compilation = compile(session, engine);
  if (!compilation)
    return std::nullopt;
  std::string text;
  for (const ir::Module& stage : compilation->stages)
    text += (text.empty() ? "" : "\n") + ir::print(stage);
  return text;
}

Text emitSchedule(Session& session, diag::Engine& engine,
                  const Invocation& invocation) {
  auto compilation = compile(session, engine);
  if (!compilation)
    return std::nullopt;
  const std::vector<ir::Module>& stages = compilation->stages;
  const std::string_view part = partOf(invocation.emit);
  if (part.empty())
    return scheduleText(stages);
  for (const ir::Module& stage : stages)
    if (std::to_string(stage.stage) == part)
      return stepsText(stage);
  invocation.err << "error: `--emit=" << invocation.emit
                 << "` names no stage of the pipeline\n"
                 << "help: its stages are 0 to " << stages.size() - 1 << '\n';
  return std::nullopt;
}

/// Prints the tables also if the program does not fit, together with the
/// diagnostic.
Text emitMemory(Session& session, diag::Engine& engine, const Invocation&) {
  auto compilation = compile(session, engine);
  if (!compilation)
    return std::nullopt;
  const std::vector<ir::Module>& stages = compilation->stages;
  int64_t ranks = compilation->estimate.ranks / int64_t(stages.size());
  std::string text;
  for (const ir::Module& stage : stages) {
    text += (text.empty() ? "" : "\n");
    text += "memory of each of the " + std::to_string(ranks) + " ranks";
    if (stages.size() > 1)
      text += " of stage " + std::to_string(stage.stage);
    text += ", in bytes\n" +
            memoryTableText(compilation->estimate.stages[size_t(stage.stage)]) +
            "\nlargest buffers\n";
    for (const LargestBuffer& buffer : largestBuffers(stage, 16))
      text += llvm::formatv("  {0,-12} {1,16}  {2}\n", buffer.category,
                            buffer.bytes, buffer.name);
  }
  checkFit(session, engine, *compilation);
  return text;
}

Text emitPlan(Session& session, diag::Engine& engine, const Invocation&) {
  auto compilation = compile(session, engine);
  if (!compilation)
    return std::nullopt;
  auto plan = makePlan(session, engine, *compilation);
  if (!plan)
    return std::nullopt;
  if (session.looksForInputs)
    lookForInputs(session, engine, compilation->recipe, *plan,
                  /*isCertain=*/false);
  plan->folder = reciperun::plan::wayTo(session.folder, session.place);
  return reciperun::plan::toJson(*plan);
}

/// The input that a stage needs.
enum class Needs { text, file, recipe };

struct EmitKind {
  std::string_view name;
  std::string_view help;
  Needs needs;
  Text (*text)(Session&, diag::Engine&, const Invocation&);
  bool hasParts = false; // `KIND:PART` is valid
};

constexpr EmitKind emitKinds[] = {
    {"tokens", "the tokens of the file", Needs::text, emitTokens},
    {"ast", "the syntax tree of the file", Needs::file, emitAst},
    {"recipe", "each setting with its value", Needs::recipe, emitRecipe},
    {"dataflow", "the model's layers and the tensors between them",
     Needs::recipe, emitDataflow},
    {"graph", "the ops of a step, not yet divided among ranks", Needs::recipe,
     emitGraph},
    {"program", "the ops of a rank of each pipeline stage", Needs::recipe,
     emitProgram},
    {"schedule",
     "the order of micro-batches on the stages; `schedule:STAGE` is the "
     "steps of one stage",
     Needs::recipe, emitSchedule, true},
    {"memory", "a rank's memory by category, and the largest buffers",
     Needs::recipe, emitMemory},
    {"plan", "what reciperun carries out, as JSON (default)", Needs::recipe,
     emitPlan},
};

const EmitKind* findKind(std::string_view emit) {
  const std::string_view name = emit.substr(0, emit.find(':'));
  for (const EmitKind& kind : emitKinds)
    if (kind.name == name && (kind.hasParts || name == emit))
      return &kind;
  return nullptr;
}

/// The kinds for `--help`.
std::vector<cli::Choice> emitChoices() {
  std::vector<cli::Choice> choices;
  for (const EmitKind& kind : emitKinds)
    choices.push_back({std::string(kind.name), std::string(kind.help)});
  return choices;
}

cli::Check storeEmit(const cli::Given& given, Invocation& invocation) {
  invocation.emit = given.value;
  if (findKind(given.value))
    return std::nullopt;
  return cli::checkChoice("--emit", emitChoices(), given.value);
}

bool isFolder(const std::string& path) {
  std::error_code ignored;
  return path.ends_with('/') || std::filesystem::is_directory(path, ignored);
}

std::string extensionOf(const EmitKind& kind) {
  return "." + std::string(kind.name) +
         (kind.name == "plan" ? ".json" : ".txt");
}

/// Writes an output text. Returns false, with a message, if it would replace a
/// file of the recipe.
bool writeText(const Session& session, const std::string& path,
               const std::string& text, const EmitKind& kind,
               const Invocation& invocation) {
  std::vector<std::string> inputs = session.loader.openedFiles();
  inputs.push_back(session.target.file);
  for (const std::string& input : inputs) {
    if (!isSameFile(input, path))
      continue;
    invocation.err << "error: `--output=" << path << "` would replace `"
                   << input << "`, a file of the recipe\n"
                   << "help: write to another file, say `"
                   << std::filesystem::path(input).stem().string()
                   << extensionOf(kind) << "`\n";
    return false;
  }
  return writeOutput(path, text, invocation.err);
}

/// Prints one text or writes it to a file.
int writeOne(Session& session, const EmitKind& kind,
             const Invocation& invocation) {
  Text text = kind.text(session, session.engine, invocation);
  int code = finish(session, invocation);
  if (!text)
    return code == exitSuccess ? exitDiagnostics : code;
  if (invocation.output.empty() || isStandardOutput(invocation.output))
    invocation.out << *text << std::flush;
  else if (!writeText(session, invocation.output, *text, kind, invocation))
    return exitDiagnostics;
  return code;
}

/// Writes a file per point into the folder, for example
/// `sft@parallel.tp=2.plan.json`. An error in one point does not stop the
/// others.
int writeAll(Session& session, const EmitKind& kind,
             std::vector<sema::Selection> selection,
             const Invocation& invocation) {
  namespace fs = std::filesystem;
  fs::path folder = invocation.output;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    invocation.err << "error: cannot make the folder `" << invocation.output
                   << "`: " << error.message()
                   << "\nhelp: name one that you may write to, "
                      "`--output=DIR/`\n";
    return exitDiagnostics;
  }
  bool isWritten = true;
  for (sema::Selection& each : selection) {
    session.selected = std::move(each);
    diag::Engine engine;
    Text text = kind.text(session, engine, invocation);
    session.take(engine);
    fs::path path = folder / (session.selected.name + extensionOf(kind));
    if (text)
      isWritten &= writeText(session, path.string(), *text, kind, invocation);
  }
  int code = finish(session, invocation);
  return isWritten ? code : exitDiagnostics;
}

/// Whether the output path has the extension of a file that this command
/// writes.
bool isNamedAsFile(const std::string& path) {
  return !isFolder(path) && (path.ends_with(".json") || path.ends_with(".txt"));
}

/// Reports several plans for a single output file.
int refuseOneFile(const Session& session,
                  const std::vector<sema::Selection>& selection,
                  const Invocation& invocation) {
  const std::string& output = invocation.output;
  invocation.err << "error: `" << session.target.file << "` has "
                 << selection.size() << " plans, and `--output=" << output
                 << "` is one file\n"
                 << "help: write them into a folder, `--output="
                 << output.substr(0, output.rfind('.')) << "/`";
  if (selection.front().isOneOfMany())
    invocation.err << ", or plan one "
                   << (selection.front().point ? "point" : "layout") << ", `"
                   << reciperun::shellWord(session.target.file + ":" +
                                           selection.front().name)
                   << "`";
  invocation.err << '\n';
  return exitDiagnostics;
}

/// Emits the stages that need a recipe.
int planRecipe(Session& session, const EmitKind& kind,
               const Invocation& invocation) {
  bool hasOutput =
      !invocation.output.empty() && !isStandardOutput(invocation.output);
  auto selection =
      session.select(hasOutput ? sema::Extent::recipe : sema::Extent::launch);
  if (!selection)
    return finish(session, invocation);
  bool isSweep = selection->front().isOneOfMany() &&
                 (session.target.point.empty() || selection->size() > 1);
  if (hasOutput && isSweep && selection->size() > 1 &&
      isNamedAsFile(invocation.output))
    return refuseOneFile(session, *selection, invocation);
  bool isMany = hasOutput && (isSweep || isFolder(invocation.output));
  session.place = isMany ? invocation.output
                         : reciperun::plan::folderOfFile(invocation.output);
  if (isMany)
    return writeAll(session, kind, std::move(*selection), invocation);
  session.selected = std::move(selection->front());
  return writeOne(session, kind, invocation);
}

int runPlan(const Invocation& invocation) {
  const EmitKind* kind = findKind(invocation.emit);
  Session session(invocation.inputs[0]);
  if (!invocation.folder.empty())
    session.folder = invocation.folder;
  session.looksForInputs = !invocation.noFiles;
  if (isModelFolder(session.target.file) && !openModelFolder(session))
    return finish(session, invocation);
  if (kind->needs != Needs::text && !session.open(invocation.sets))
    return finish(session, invocation);
  if (kind->needs == Needs::recipe)
    return planRecipe(session, *kind, invocation);
  return writeOne(session, *kind, invocation);
}

} // namespace

cli::Command planCommand(Invocation& invocation) {
  const cli::Option emit = {.name = "--emit",
                            .valueName = "KIND",
                            .help = "what to print:",
                            .choices = emitChoices(),
                            .store = [&invocation](const cli::Given& given) {
                              return storeEmit(given, invocation);
                            }};
  cli::Option output =
      cli::text("--output", "OUT",
                "write to the file OUT instead of standard output, which is "
                "`-`; into a folder, a file each, where OUT is one or ends in "
                "`/`",
                invocation.output);
  output.shortName = "-o";
  return {.name = "plan",
          .synopsis = "FILE[:NAME] [options]",
          .summary = "compile a recipe into a plan, or print any stage of it",
          .details =
              "Compiles a recipe and prints the plan as JSON, or with --emit "
              "what an earlier phase made. With --output=DIR/, the points of a "
              "sweep and the layouts of an elastic run are written to files of "
              "their names.\n\n"
              "FILE may be a Hugging Face directory whose model is of the "
              "standard library: the recipe is made of its config.json, and "
              "the plan generates from it.\n\n"
              "Relative paths start in the recipe's folder. The plan knows the "
              "way there from its own file, or on standard output from the "
              "working folder, so that plan and data can be moved together.",
          .options = {emit, output, setOption(invocation),
                      folderOption(invocation), noFilesOption(invocation),
                      maxErrorsOption(invocation)},
          .operands = {1, 1, "a file", &invocation.inputs},
          .run = [&invocation] { return runPlan(invocation); }};
}

} // namespace recipec::driver
