// `reciperun convert`: a model from one form to another, on one process.

#include "runtime/train/Commands.h"

#include "runtime/checkpoint/Convert.h"
#include "runtime/cli/Options.h"
#include "runtime/plan/StopSignal.h"

#include <cstdio>
#include <filesystem>
#include <optional>

namespace reciperun::train {
namespace {

using checkpoint::Form;

struct ConvertArguments {
  std::vector<std::string> paths; // of the source and of the target
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
  return to == Form::adapter
             ? checkpoint::checkpointToAdapter(line.source(), line.target(),
                                               checkStopSignal)
             : checkpoint::checkpointToHuggingFace(line.source(), line.target(),
                                                   checkStopSignal);
}

/// A Hugging Face directory without what `reciperun generate` reads first.
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

} // namespace

int convertCommand(const std::vector<std::string>& arguments) {
  if (std::find(arguments.begin(), arguments.end(), "--help") !=
      arguments.end()) {
    std::fputs(convertHelp, stdout);
    return 0;
  }
  Expected<ConvertArguments> line = parseConvertArguments(arguments);
  if (!line) {
    std::fprintf(stderr, "error: %s\n", line.message().c_str());
    return 2;
  }
  watchStopSignals();
  if (Status status = convert(*line); !status) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return stopSignal() == 0 ? 1 : 128 + stopSignal();
  }
  std::printf("converted `%s` to `%s`\n", line->source.c_str(),
              line->target.c_str());
  noteMissingPlan(line->target);
  return 0;
}

} // namespace reciperun::train
