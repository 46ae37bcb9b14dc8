// `reciperun convert`: converts a model to another format, in one process.

#include "runtime/train/Commands.h"

#include "runtime/base/StopSignal.h"
#include "runtime/checkpoint/Convert.h"
#include "runtime/cli/Options.h"

#include <cstdio>
#include <filesystem>
#include <optional>

namespace reciperun::train {
namespace {

using checkpoint::Form;

struct ConvertArguments {
  std::vector<std::string> paths; // source and target
  std::optional<Form> form;

  const std::string& source() const { return paths[0]; }
  const std::string& target() const { return paths[1]; }
};

Status convert(const ConvertArguments& line) {
  Expected<Form> from = checkpoint::formOf(line.source());
  if (!from)
    return from.status();
  bool isCheckpoint = *from == Form::checkpoint;
  Form to =
      line.form.value_or(isCheckpoint ? Form::huggingFace : Form::checkpoint);
  if (to == *from)
    return Status::error(
        "`" + line.source() + "` is already " +
        (isCheckpoint ? "a checkpoint" : "a Hugging Face directory"));
  if (to == Form::checkpoint)
    return checkpoint::huggingFaceToCheckpoint(line.source(), line.target(),
                                               checkStopSignal);
  if (!isCheckpoint)
    return Status::error("`" + line.source() +
                         "` is a Hugging Face directory, whose weights have no "
                         "adapter apart");
  if (to == Form::adapter) {
    Expected<bool> has = checkpoint::hasAdapter(line.source());
    RECIPERUN_TRY(has);
    if (!*has)
      return Status::error("`--to=adapter`: `" + line.source() +
                           "` has no adapter: its run trained the model's own "
                           "weights; leave `--to` out to write the whole "
                           "model");
  }
  return to == Form::adapter
             ? checkpoint::checkpointToAdapter(line.source(), line.target(),
                                               checkStopSignal)
             : checkpoint::checkpointToHuggingFace(line.source(), line.target(),
                                                   checkStopSignal);
}

/// Prints a note when a Hugging Face directory lacks the plan that `reciperun
/// generate` reads first.
void noteMissingPlan(const std::filesystem::path& target) {
  namespace fs = std::filesystem;
  if (!fs::exists(target / "config.json") ||
      fs::exists(target / "generate.plan.json"))
    return;
  const std::string folder = target.string();
  std::printf(
      "note: `%s` has no generate.plan.json, since the recipe of the run "
      "sets no `export.hf`; for a model of the library `reciperun "
      "generate %s` compiles one\n",
      folder.c_str(), folder.c_str());
}

int runConvert(const ConvertArguments& line) {
  watchStopSignals();
  if (Status status = convert(line); !status.isOk()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return stopSignal() == 0 ? 1 : 128 + stopSignal();
  }
  std::printf("converted `%s` to `%s`\n", line.source().c_str(),
              line.target().c_str());
  noteMissingPlan(line.target());
  return 0;
}

} // namespace

cli::Command convertCommand() {
  auto line = std::make_shared<ConvertArguments>();
  return {
      .name = "convert",
      .synopsis = "SOURCE TARGET [options]",
      .summary = "write a checkpoint for Hugging Face or peft, or a Hugging "
                 "Face model as a checkpoint",
      .details =
          "Writes the model in SOURCE, a checkpoint or a Hugging Face "
          "directory, to the folder TARGET in another form. Nothing is changed "
          "where it fails.",
      .options = {cli::choice(
          "--to", "FORM", "the form of TARGET:",
          {{"hf", Form::huggingFace,
            "a Hugging Face directory, an adapter merged into the weights; the "
            "default for a checkpoint"},
           {"checkpoint", Form::checkpoint,
            "a checkpoint that runs can start from with `weights`; the default "
            "for a Hugging Face directory"},
           {"adapter", Form::adapter,
            "the adapter of a checkpoint, as peft reads it"}},
          line->form)},
      .operands = {2, 2, "the paths of a source and a target", &line->paths},
      .run = [line] { return runConvert(*line); }};
}

} // namespace reciperun::train
