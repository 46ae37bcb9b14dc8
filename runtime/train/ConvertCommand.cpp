// `reciperun convert`: converts a model to another format, in one process.

#include "runtime/train/Commands.h"

#include "runtime/base/RemoteFiles.h"
#include "runtime/base/StopSignal.h"
#include "runtime/checkpoint/Convert.h"
#include "runtime/checkpoint/quantized/QuantizeDirectory.h"
#include "runtime/cli/Options.h"
#include "runtime/serve/calibrate/Calibrate.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include <unistd.h>

namespace reciperun::train {
namespace {

using checkpoint::Form;

struct ConvertArguments {
  std::vector<std::string> paths; // source and target
  std::optional<Form> form;
  std::optional<sizes::WeightFormat> weights;
  std::optional<checkpoint::QuantizedLayout> layout;
  std::string calibration; // a file of texts
  int64_t samples = 0;     // of the texts; 0: the default
  bool force = false;

  const std::string& source() const { return paths[0]; }
  const std::string& target() const { return paths[1]; }
  checkpoint::Existing existing() const {
    return force ? checkpoint::Existing::replace : checkpoint::Existing::refuse;
  }
};

/// Shows the progress in percent if stderr is a terminal.
class ShareShown {
public:
  explicit ShareShown(const char* what) : what(what) {}
  ~ShareShown() {
    if (shown >= 0)
      std::fprintf(stderr, "\n");
  }
  void show(int64_t done, int64_t all) {
    const int share = all > 0 ? int(100 * done / all) : 100;
    if (share == shown || !isatty(STDERR_FILENO))
      return;
    shown = share;
    std::fprintf(stderr, "\r%s: %3d %%", what, share);
  }

private:
  const char* what;
  int shown = -1; // per cent
};

/// Measures the inputs of the source's linear layers.
Expected<checkpoint::InputStatistics> calibrate(const ConvertArguments& line) {
  ShareShown shown("calibrating");
  serve::CalibrationOptions options;
  options.file = line.calibration;
  if (line.samples > 0)
    options.samples = line.samples;
  options.goesOn = checkStopSignal;
  options.progress = [&](int64_t done, int64_t all) { shown.show(done, all); };
  Expected<serve::Calibration> made = serve::calibrate(line.source(), options);
  if (!made)
    return made.status().withContext("`--calibrate`");
  return std::move(made->statistics);
}

/// Checks that the other options are compatible with a calibration.
Status checkCalibration(const ConvertArguments& line) {
  if (line.calibration.empty())
    return line.samples > 0
               ? Status::error(
                     "`--calibrate-samples` needs `--calibrate=FILE`, "
                     "the texts to take samples of")
               : Status::ok();
  if (line.weights != sizes::WeightFormat::int4)
    return Status::error("`--calibrate` is for `--weights=int4`; the 8 bits of "
                         "fp8 and int8 need no calibration: leave "
                         "`--calibrate` out");
  if (line.layout == checkpoint::QuantizedLayout::compressedTensors)
    return Status::error("`--calibrate` finds factors of inputs, which the "
                         "layout of compressed-tensors does not have: leave "
                         "`--format` out, or write `--format=modelopt`");
  return Status::ok();
}

Status quantize(const ConvertArguments& line, Form from) {
  if (from != Form::huggingFace)
    return Status::error("`" + line.source() +
                         "` is a checkpoint, and `--weights` quantizes Hugging "
                         "Face directories: convert it without `--weights` "
                         "first, then convert the result");
  if (line.form && *line.form != Form::huggingFace)
    return Status::error("`--weights` writes a Hugging Face directory: leave "
                         "`--to` out");
  const bool isCalibrated = !line.calibration.empty();
  ShareShown shown("quantizing");
  checkpoint::QuantizeOptions options;
  options.format = *line.weights;
  options.layout = line.layout.value_or(
      isCalibrated ? checkpoint::QuantizedLayout::modelOpt
                   : checkpoint::QuantizedLayout::compressedTensors);
  if (isCalibrated)
    options.calibrate = [&] { return calibrate(line); };
  options.threads = int(std::max(1u, std::thread::hardware_concurrency()));
  options.goesOn = checkStopSignal;
  options.existing = line.existing();
  options.note = [](const std::string& note) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  };
  options.progress = [&](int64_t done, int64_t all) { shown.show(done, all); };
  return checkpoint::quantizeHuggingFace(line.source(), line.target(), options);
}

/// The error for an adapter of a Hugging Face directory.
Status noAdapter(const std::filesystem::path& source) {
  const std::filesystem::path adapter = source / "adapter";
  const std::string message =
      "`--to=adapter`: `" + source.string() +
      "` is a Hugging Face directory, which holds whole weights; ";
  if (isThere(adapter / "adapter_config.json"))
    return Status::error(message + "the adapter merged into them is in `" +
                         adapter.string() + "`");
  return Status::error(message +
                       "convert a checkpoint of the run that trained the "
                       "adapter: `reciperun convert "
                       "runs/NAME/checkpoints/step-N TARGET --to=adapter`");
}

Status convert(const ConvertArguments& line) {
  Expected<Form> from = checkpoint::formOf(line.source());
  if (!from)
    return from.status();
  RECIPERUN_TRY(checkpoint::checkApart(line.source(), line.target()));
  RECIPERUN_TRY(checkCalibration(line));
  if (line.weights)
    return quantize(line, *from);
  if (line.layout)
    return Status::error("`--format` is the layout of quantized weights: add "
                         "`--weights=fp8`, `int8` or `int4`");
  bool isCheckpoint = *from == Form::checkpoint;
  Form to =
      line.form.value_or(isCheckpoint ? Form::huggingFace : Form::checkpoint);
  if (to == *from)
    return Status::error(
        "`" + line.source() + "` is already " +
        (isCheckpoint ? "a checkpoint" : "a Hugging Face directory") +
        "; leave `--to` out to convert it");
  const checkpoint::ConvertOptions options = {.goesOn = checkStopSignal,
                                              .existing = line.existing()};
  if (to == Form::checkpoint)
    return checkpoint::huggingFaceToCheckpoint(line.source(), line.target(),
                                               options);
  if (!isCheckpoint)
    return noAdapter(line.source());
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
                                               options)
             : checkpoint::checkpointToHuggingFace(line.source(), line.target(),
                                                   options);
}

/// Prints a note when a Hugging Face directory lacks the plan that `reciperun
/// generate` reads first.
void noteMissingPlan(const std::filesystem::path& target) {
  if (!isThere(target / "config.json") ||
      isThere(target / "generate.plan.json"))
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
  if (!line.weights)
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
          "directory, to the folder TARGET in another form, or with quantized "
          "weights. TARGET is a new or an empty folder. Both may be at "
          "`s3://BUCKET/PREFIX`. Nothing is changed where it fails; at an "
          "address, what `--force` replaces is removed first.",
      .options =
          {cli::choice("--to", "FORM", "the form of TARGET:",
                       {{"hf", Form::huggingFace,
                         "a Hugging Face directory, an adapter merged into the "
                         "weights; the "
                         "default for a checkpoint"},
                        {"checkpoint", Form::checkpoint,
                         "a checkpoint that runs can start from with "
                         "`weights`; the default "
                         "for a Hugging Face directory"},
                        {"adapter", Form::adapter,
                         "the adapter of a checkpoint, as peft reads it"}},
                       line->form),
           cli::choice(
               "--weights", "FORMAT",
               "quantize the linear layers of a Hugging Face directory:",
               {{"fp8", sizes::WeightFormat::fp8,
                 "8 bits of floating point, a scale for each output"},
                {"int8", sizes::WeightFormat::int8,
                 "8-bit integers, a scale for each output"},
                {"int4", sizes::WeightFormat::int4,
                 "4-bit integers, a scale for each 128 inputs of an output"}},
               line->weights),
           cli::choice("--format", "LAYOUT", "the layout of quantized weights:",
                       {{"compressed-tensors",
                         checkpoint::QuantizedLayout::compressedTensors,
                         "that of compressed-tensors, the default"},
                        {"modelopt", checkpoint::QuantizedLayout::modelOpt,
                         "that of ModelOpt, for fp8 and int4"}},
                       line->layout),
           cli::pathOrAddress(
               "--calibrate", "FILE",
               "for int4, run the model on texts, a prompt a line as "
               "`generate --prompt-file` takes it, and scale inputs so "
               "that large ones lose less (AWQ); in ModelOpt's layout",
               line->calibration),
           cli::number("--calibrate-samples", "N",
                       "how many of the texts, of at most 512 tokens; 128 by "
                       "default",
                       1, line->samples),
           cli::flag("--force", "replace the model or the checkpoint in TARGET",
                     line->force)},
      .operands = {2, 2, "the paths of a source and a target", &line->paths,
                   /*takeAddresses=*/true},
      .run = [line] { return runConvert(*line); }};
}

} // namespace reciperun::train
