// See ReportCommand.h.

#include "runtime/train/report/ReportCommand.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/cli/Options.h"
#include "runtime/train/report/RunFolder.h"
#include "runtime/train/report/RunPage.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::train {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string output; // empty: standard output
};

int fail(const Status& status) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return 1;
}

int runReport(const ReportArguments& line) {
  std::vector<RunFolder> runs;
  for (const std::string& path : line.runs) {
    Expected<RunFolder> run = readRunFolder(path);
    if (!run)
      return fail(run.status());
    for (const std::string& warning : run->warnings)
      std::fprintf(stderr, "warning: %s\n", warning.c_str());
    runs.push_back(*std::move(run));
  }
  const std::string page = runPage(runs);
  if (line.output.empty()) {
    std::fputs(page.c_str(), stdout);
    return 0;
  }
  const Status written = checkpoint::writeTextFile(line.output, page);
  return written.isOk() ? 0 : fail(written);
}

} // namespace

cli::Command reportCommand() {
  auto line = std::make_shared<ReportArguments>();
  cli::Option output = cli::text(
      "--output", "HTML", "write to the file HTML instead of standard output",
      line->output);
  output.shortName = "-o";
  return {
      .name = "report",
      .synopsis = "RUN... [-o HTML]",
      .summary = "write a page about one run, or a comparison of several",
      .details =
          "The page shows loss, learning rate, gradient norm, throughput, step "
          "time and memory over steps, the figures of the run, its slowest "
          "steps, and its events: starts, resumed and saved checkpoints, "
          "validations, loss spikes and the end. RUN is the folder of a run, "
          "its `train.dir`. The run may still be going on. The page needs no "
          "other file and has no scripts.",
      .options = {std::move(output)},
      .operands = {1, cli::Operands::anyNumber, "the folder of a run",
                   &line->runs},
      .run = [line] { return runReport(*line); }};
}

} // namespace reciperun::train
