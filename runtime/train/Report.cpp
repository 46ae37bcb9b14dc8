// Prints log lines with NeMo's fields, and the progress bar.

#include "runtime/train/Report.h"

#include "runtime/base/Text.h"

#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace reciperun::train {
namespace {

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
  print(formatted("\r\033[Kvalidating %ld/%ld", long(batch), long(batches)));
  drawn = true;
}

void Progress::line(const std::string& text) {
  clearBar();
  print(text + "\n");
}

/// The bar uses the width that the figures leave, so that the line never wraps
/// on a terminal of the usual width.
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
  print("\r\033[K[" + std::string(size_t(full), '#') +
        std::string(size_t(width - full), '.') + "]" + figures);
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
  text += formatted(" | tokens/s: %.0f | TFLOP/s: %.3g", record.tokensPerSecond,
                    record.tflopsPerRank);
  if (record.mfu)
    text += formatted(" | MFU: %.1f %%", *record.mfu * 100);
  if (record.validLoss)
    text += formatted(" | val_loss: %.6g", *record.validLoss);
  line("Training " + text);
}

void Progress::clearBar() {
  if (drawn)
    print("\r\033[K");
  drawn = false;
}

void Progress::print(const std::string& text) {
  if (isLost)
    return;
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0)
    return;
  std::fprintf(stderr,
               "note: cannot write to standard output: %s; the run goes on, "
               "and `metrics.jsonl` tells of its steps\n",
               std::strerror(errno));
  isLost = true;
  __fpurge(stdout);
  std::clearerr(stdout);
}

} // namespace reciperun::train
