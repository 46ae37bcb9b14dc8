// `recipec import-nemo FILE`: recipes from other programs' configurations.
//
//   1. Determine the format from the file's name, and read the jobs.
//   2. Write the jobs as a recipe file, and format it.

#include "compiler/driver/Commands.h"

#include "compiler/diag/Render.h"
#include "compiler/driver/GeneratingRecipe.h"
#include "compiler/driver/ImportConfig.h"
#include "compiler/driver/ImportTable.h"
#include "compiler/driver/ImportToml.h"
#include "compiler/driver/ImportTrials.h"
#include "compiler/driver/ImportYaml.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/RecipeText.h"
#include "compiler/driver/Terminal.h"
#include "compiler/import/MegatronArguments.h"
#include "compiler/import/Performance.h"
#include "compiler/import/Recipes.h"
#include "runtime/cli/Options.h"

#include <filesystem>
#include <ostream>
#include <string_view>
#include <utility>

namespace recipec::driver {
namespace {

/// The jobs that were read, and the sentences for the top of the recipe file.
struct Imported {
  std::vector<importer::Job> jobs;
  std::vector<std::string> header;
};

/// The file of `FILE:ROW`, and the row; the row is empty in `FILE`.
std::pair<std::string, std::string> splitRow(const std::string& input) {
  constexpr std::string_view table = ".csv:";
  const size_t at = input.rfind(table);
  std::error_code ignored;
  if (at == input.npos || std::filesystem::exists(input, ignored))
    return {input, ""};
  const size_t colon = at + table.size() - 1;
  return {input.substr(0, colon), input.substr(colon + 1)};
}

void reportFormat(Session& session, const std::string& path) {
  std::error_code ignored;
  const bool isThere = std::filesystem::exists(path, ignored);
  session.engine
      .report(diag::Kind::FileNotReadable, {},
              isThere ? "`" + path + "` is in no format that this command reads"
                      : "there is no file `" + path + "`")
      .help(
          "name a config.json of Hugging Face or its folder, a table of NeMo's "
          "recommended configurations in CSV, a configuration of NeMo in YAML, "
          "or one of torchtitan in TOML");
}

/// Adds the command as a source, and splits it into words.
std::vector<importer::Word> wordsOf(Session& session,
                                    const std::vector<std::string>& command) {
  std::string text;
  std::vector<importer::Word> words;
  for (const std::string& word : command) {
    text += text.empty() ? "" : " ";
    words.push_back({word,
                     {SourceId::none, uint32_t(text.size()),
                      uint32_t(text.size() + word.size())}});
    text += word;
  }
  const SourceId source =
      session.sources.add("the command", text, SourceKind::commandLine);
  for (importer::Word& word : words)
    word.range.source = source;
  return words;
}

/// Reads the job of a command of Megatron-LM.
std::optional<importer::Job>
importMegatron(Session& session, const std::vector<importer::Word>& command) {
  auto made = importer::megatronJob(command, session.engine);
  if (!made)
    return std::nullopt;
  made->job.remarks.push_back("The command names no kind of GPU: the recipe "
                              "takes `" +
                              made->job.hardware + "`.");
  importer::fitJob(made->job, factsOf(session.loader, made->job.model));
  return onFewestNodes(session.loader, *made);
}

/// Reads the job of a command, with the defaults of a table if `input` names
/// one.
Imported readCommand(Session& session, const std::vector<std::string>& command,
                     const std::string& input) {
  const std::vector<importer::Word> words = wordsOf(session, command);
  if (!importer::isMegatron(words))
    return {importScript(session, words, input), importer::performanceHeader()};
  Imported imported;
  if (auto job = importMegatron(session, words))
    imported.jobs.push_back(std::move(*job));
  return imported;
}

/// Reads the jobs of the input. Errors go to the session's engine.
Imported readJobs(Session& session, const std::string& input) {
  namespace fs = std::filesystem;
  const auto [file, row] = splitRow(input);
  const fs::path path =
      isModelFolder(file) ? fs::path(file) / "config.json" : fs::path(file);
  std::error_code ignored;
  Imported imported;
  if (!fs::is_regular_file(path, ignored)) {
    reportFormat(session, file);
  } else if (path.extension() == ".csv") {
    imported.jobs = importTable(session, file, row);
    imported.header = importer::performanceHeader();
  } else if (path.extension() == ".json") {
    if (auto job = importConfig(session, path.string()))
      imported.jobs.push_back(std::move(*job));
  } else if (path.extension() == ".yaml" || path.extension() == ".yml") {
    if (auto job = importYaml(session, file))
      imported.jobs.push_back(std::move(*job));
  } else if (path.extension() == ".toml") {
    if (auto job = importToml(session, file))
      imported.jobs.push_back(std::move(*job));
  } else {
    reportFormat(session, file);
  }
  return imported;
}

/// The call without the options of an imported command, because these may hold
/// secrets.
std::string callOf(const Invocation& invocation) {
  std::string call = "recipec import-nemo";
  for (const std::string& input : invocation.inputs)
    call += " " + std::filesystem::path(input).filename().string();
  if (!invocation.passedOn.empty())
    call += " --";
  for (const std::string& word : invocation.passedOn) {
    if (word.starts_with("-") && word != "-m")
      break;
    call += " " + word;
  }
  return call;
}

/// The text of the recipes, formatted.
std::string textOf(const Imported& imported, const Invocation& invocation) {
  std::vector<std::string> header = {"Written by `" + callOf(invocation) +
                                     "`."};
  header.insert(header.end(), imported.header.begin(), imported.header.end());
  return inOneStyle(importer::recipesText(imported.jobs, header));
}

int runImportNemo(const Invocation& invocation) {
  const std::string input =
      invocation.inputs.empty() ? "" : invocation.inputs[0];
  Session session(Target{input, "", ""});
  const Imported imported =
      invocation.passedOn.empty()
          ? readJobs(session, input)
          : readCommand(session, invocation.passedOn, input);
  const int result = finish(session, invocation);
  if (imported.jobs.empty())
    return exitDiagnostics;
  const std::string text = textOf(imported, invocation);
  if (invocation.output.empty() || isStandardOutput(invocation.output))
    invocation.out << text;
  else if (!writeOutput(invocation.output, text, invocation.err))
    return exitDiagnostics;
  return result;
}

cli::Check checkInput(const Invocation& invocation) {
  if (!invocation.inputs.empty() || !invocation.passedOn.empty())
    return std::nullopt;
  return cli::UsageError{"`recipec import-nemo` needs a file or a command",
                         "usage: recipec import-nemo FILE, or recipec "
                         "import-nemo -- python -m "
                         "scripts.performance.llm.pretrain_llama3_8b ..."};
}

} // namespace

cli::Command importNemoCommand(Invocation& invocation) {
  cli::Option output = cli::text(
      "--output", "OUT", "write to the file OUT instead of standard output",
      invocation.output);
  output.shortName = "-o";
  return {
      .name = "import-nemo",
      .synopsis = "FILE[:ROW] [-o OUT]",
      .summary = "write recipes from other programs' configurations",
      .details =
          "Reads a Hugging Face config.json, or the folder that has one; a "
          "configuration of NeMo in YAML, or of torchtitan in TOML; or a table "
          "of NeMo's recommended configurations, model_configs_h100.csv, of "
          "which ROW selects one by its line or by the name of its recipe.\n\n"
          "Behind `--` stands a command of Megatron-LM's pretrain_gpt.py, or "
          "of NeMo's performance scripts; the defaults of the latter's options "
          "are those of TABLE.\n\n"
          "What has no counterpart is listed above the recipe, with the "
          "reason.",
      .moreUsage = {"recipec import-nemo [TABLE] [-o OUT] -- COMMAND..."},
      .options = {std::move(output), maxErrorsOption(invocation)},
      .operands = {0, 1, "", &invocation.inputs},
      .passedOn = &invocation.passedOn,
      .check = [&invocation] { return checkInput(invocation); },
      .run = [&invocation] { return runImportNemo(invocation); }};
}

} // namespace recipec::driver
