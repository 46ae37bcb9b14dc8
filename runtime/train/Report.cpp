// metrics.jsonl, lines of NeMo's fields, and the progress bar.

#include "runtime/train/Report.h"

#include "runtime/checkpoint/Files.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace reciperun::train {
namespace {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

bool isSizedTerminal() {
  winsize size = {};
  return isatty(STDOUT_FILENO) &&
         ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
}

/// `0:07`, `12:31`, `3:05:00`.
std::string clockText(double seconds) {
  long whole = std::lround(std::max(0.0, seconds));
  if (whole < 3600)
    return formatted("%ld:%02ld", whole / 60, whole % 60);
  return formatted("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60,
                   whole % 60);
}

} // namespace

namespace {

struct Kept {
  std::string rows;
  std::vector<double> losses;
};

/// The rows of a metrics file of steps that had consumed no more samples; one
/// that a process did not finish is none.
Expected<Kept> rowsUpTo(const std::filesystem::path& path, int64_t samples) {
  std::error_code code;
  Kept kept;
  if (!std::filesystem::exists(path, code))
    return kept;
  std::ifstream file(path);
  for (std::string row; std::getline(file, row);) {
    auto json = nlohmann::json::parse(row, nullptr, false);
    if (!json.is_object() || !json["samples"].is_number_integer())
      continue;
    if (json["samples"].get<int64_t>() > samples)
      continue;
    kept.rows += row + "\n";
    kept.losses.push_back(json.value("loss", 0.0));
  }
  if (file.bad() || !file.eof())
    return Status::error("cannot read `" + path.string() +
                         "`: " + std::strerror(errno));
  return kept;
}

} // namespace

std::string bytesText(int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

Expected<MetricsFile> MetricsFile::open(const std::filesystem::path& path,
                                        int64_t samples) {
  MetricsFile metrics;
  if (samples > 0) {
    Expected<Kept> kept = rowsUpTo(path, samples);
    RECIPERUN_TRY(kept);
    RECIPERUN_TRY(checkpoint::writeTextFile(path, kept->rows));
    metrics.losses = std::move(kept->losses);
  }
  auto lines = LineWriter::open(path, samples > 0 ? LineWriter::Mode::append
                                                  : LineWriter::Mode::truncate);
  RECIPERUN_TRY(lines);
  metrics.lines = *std::move(lines);
  return metrics;
}

Status MetricsFile::write(const StepRecord& record) {
  nlohmann::ordered_json object;
  object["step"] = record.step;
  object["epoch"] = record.epoch;
  object["loss"] = record.loss;
  object["lr"] = record.learningRate;
  object["grad_norm"] = record.gradNorm;
  object["step_seconds"] = record.times.step;
  if (record.hostSeconds)
    object["host_seconds"] = *record.hostSeconds;
  object["tokens_per_second"] = record.tokensPerSecond;
  object["samples"] = record.samples;
  object["tflops_per_rank"] = record.tflopsPerRank;
  object["mfu"] = record.mfu;
  object["device_bytes"] = record.deviceBytes;
  if (record.droppedShare)
    object["dropped_share"] = *record.droppedShare;
  if (record.overflowShare)
    object["overflow_share"] = *record.overflowShare;
  if (record.validLoss)
    object["valid_loss"] = *record.validLoss;
  nlohmann::ordered_json& seconds = object["seconds"];
  for (size_t i = 0; i < phaseNames.size(); ++i)
    seconds[phaseNames[i]] = record.times.phases[i];
  seconds["saving"] = record.times.saving;
  for (const auto& [group, norm] : record.gradNorms)
    object["grad_norms"][group] = norm;
  return lines->write(object.dump());
}

Progress::Progress(Style style, int64_t steps, int64_t done,
                   const plan::Train& train)
    : bar(style == Style::bar ||
          (style == Style::automatic && isSizedTerminal())),
      steps(steps), done(done), logEvery(train.logEvery),
      globalBatch(train.globalBatch) {}

void Progress::step(const StepRecord& record) {
  seconds += record.times.step;
  if (bar)
    drawBar(record);
  bool due = record.step % logEvery == 0 || record.step == steps;
  if (record.validLoss || (!bar && due))
    printLine(record);
}

void Progress::validating(int64_t batch, int64_t batches) {
  if (!bar)
    return;
  std::printf("\r\033[Kvalidating %ld/%ld", long(batch), long(batches));
  std::fflush(stdout);
  drawn = true;
}

void Progress::line(const std::string& text) {
  clearBar();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

/// The bar takes what the figures leave of a line, so that it never wraps on a
/// terminal of the usual width.
void Progress::drawBar(const StepRecord& record) {
  constexpr int columns = 79, narrowest = 4;
  double left =
      seconds / double(record.step - done) * double(steps - record.step);
  std::string figures = formatted(
      " %ld/%ld  loss %.4f  lr %.2e  %.0f tokens/s  %s left", long(record.step),
      long(steps), record.loss, record.learningRate, record.tokensPerSecond,
      clockText(left).c_str());
  int width = std::max(narrowest, columns - 2 - int(figures.size()));
  int full = int(width * record.step / std::max<int64_t>(1, steps));
  std::printf("\r\033[K[%s%s]%s", std::string(size_t(full), '#').c_str(),
              std::string(size_t(width - full), '.').c_str(), figures.c_str());
  std::fflush(stdout);
  drawn = true;
}

/// The fields, names and separators are those of NeMo's ProgressPrinter.
void Progress::printLine(const StepRecord& record) {
  std::string text = formatted(
      "epoch %ld, iteration %ld/%ld | lr: %.4g | global_batch_size: %ld | "
      "global_step: %ld | reduced_train_loss: %.6g | "
      "train_step_timing in s: %.4g | consumed_samples: %ld",
      long(std::max(0.0, std::ceil(record.epoch) - 1)), long(record.step),
      long(steps), record.learningRate, long(globalBatch), long(record.step),
      record.loss, record.times.step, long(record.samples));
  text +=
      formatted(" | tokens/s: %.0f | TFLOP/s: %.3g | MFU: %.1f %%",
                record.tokensPerSecond, record.tflopsPerRank, record.mfu * 100);
  if (record.validLoss)
    text += formatted(" | val_loss: %.6g", *record.validLoss);
  line("Training " + text);
}

void Progress::clearBar() {
  if (drawn)
    std::fputs("\r\033[K", stdout);
  drawn = false;
}

} // namespace reciperun::train
