// `reciperun convert`: a model from one form to another, on one process.

#include "runtime/train/Commands.h"

#include "runtime/checkpoint/Convert.h"
#include "runtime/plan/StopSignal.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace reciperun::train {
namespace {

using checkpoint::Form;

constexpr const char* convertHelp =
    "usage: reciperun convert SOURCE TARGET [--to=FORM]\n"
    "\n"
    "Writes the model in SOURCE, a checkpoint or a Hugging Face directory, to\n"
    "the folder TARGET in another form. Nothing is changed where it fails.\n"
    "\n"
    "  --to=hf          a Hugging Face directory, an adapter merged into the\n"
    "                   weights; the default for a checkpoint\n"
    "  --to=checkpoint  a checkpoint that runs can start from with `weights`;\n"
    "                   the default for a Hugging Face directory\n"
    "  --to=adapter     the adapter of a checkpoint, as peft reads it\n";

struct ConvertArguments {
  std::string source;
  std::string target;
  std::optional<Form> form;
};

Expected<Form> parseForm(const std::string& name) {
  if (name == "hf")
    return Form::huggingFace;
  if (name == "checkpoint")
    return Form::checkpoint;
  if (name == "adapter")
    return Form::adapter;
  return Status::error("`--to` is `hf`, `checkpoint` or `adapter`, not `" +
                       name + "`");
}

Expected<ConvertArguments>
parseConvertArguments(const std::vector<std::string>& arguments) {
  const std::string to = "--to=";
  ConvertArguments line;
  for (const std::string& argument : arguments) {
    if (argument.starts_with(to)) {
      Expected<Form> form = parseForm(argument.substr(to.size()));
      if (!form)
        return form.status();
      line.form = *form;
    } else if (argument.starts_with("-")) {
      return Status::error("`reciperun convert` has no option `" + argument +
                           "`");
    } else if (line.source.empty()) {
      line.source = argument;
    } else if (line.target.empty()) {
      line.target = argument;
    } else {
      return Status::error("`reciperun convert` takes a source and a target, "
                           "and `" +
                           argument + "` is a third path");
    }
  }
  if (line.target.empty())
    return Status::error(
        "`reciperun convert` needs the paths of a source and a target");
  return line;
}

Status convert(const ConvertArguments& line) {
  Expected<Form> from = checkpoint::formOf(line.source);
  if (!from)
    return from.status();
  bool isCheckpoint = *from == Form::checkpoint;
  Form to =
      line.form.value_or(isCheckpoint ? Form::huggingFace : Form::checkpoint);
  if (to == *from)
    return Status::error(
        "`" + line.source + "` is already " +
        (isCheckpoint ? "a checkpoint" : "a Hugging Face directory"));
  if (to == Form::checkpoint)
    return checkpoint::huggingFaceToCheckpoint(line.source, line.target,
                                               checkStopSignal);
  if (!isCheckpoint)
    return Status::error("`" + line.source +
                         "` is a Hugging Face directory, whose weights have no "
                         "adapter apart");
  return to == Form::adapter
             ? checkpoint::checkpointToAdapter(line.source, line.target,
                                               checkStopSignal)
             : checkpoint::checkpointToHuggingFace(line.source, line.target,
                                                   checkStopSignal);
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
  if (Status status = convert(*line); !status.isOk()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return stopSignal() == 0 ? 1 : 128 + stopSignal();
  }
  std::printf("converted `%s` to `%s`\n", line->source.c_str(),
              line->target.c_str());
  return 0;
}

} // namespace reciperun::train
