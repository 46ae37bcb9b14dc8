// 1. Open the device; 2. measure; 3. print.

#include "runtime/bench/DeviceCommand.h"

#include "runtime/bench/DeviceReport.h"
#include "runtime/cli/Options.h"
#include "runtime/device/Environment.h"
#include "runtime/device/cpu/Threads.h"
#include "runtime/exec/Devices.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace reciperun::bench {
namespace {

enum class Format { table, recipe, json };

struct DeviceArguments {
  std::string kind; // `cuda` or `cpu`; empty: what the program is built for
  Format format = Format::table;
  int64_t tokens = 0;
  double seconds = 1;
  int threads = 0;
};

Expected<std::unique_ptr<device::Device>> open(const DeviceArguments& line,
                                               const std::string& kind) {
  int threads = line.threads;
  if (threads == 0) {
    const Expected<int> own = device::threadsOfProcess(/*sharing=*/1);
    RECIPERUN_TRY(own);
    threads = *own;
  }
  plan::Plan plan; // of one rank, without a program
  plan.device = kind;
  plan.compute = kind == "cuda" ? plan::DType::bf16 : plan::DType::f32;
  plan.stages.resize(1);
  device::setEnvironment(exec::environmentOf(plan));
  auto device =
      exec::openDevice(plan, plan.stages.front(), /*place=*/0, threads);
  if (!device && line.kind.empty() && kind == "cuda")
    return device.status().withRemedy("`--device cpu` measures the CPU");
  return device;
}

void showProgress(size_t done, size_t all) {
  if (isatty(STDERR_FILENO))
    std::fprintf(stderr, "\r%zu of %zu%s", done, all, done == all ? "\n" : "");
}

Status measure(const DeviceArguments& line) {
  std::string kind = line.kind;
  if (kind.empty())
    kind = exec::gpuNames().empty() ? "cpu" : "cuda";
  const auto device = open(line, kind);
  RECIPERUN_TRY(device);
  DeviceReport report;
  report.device = (*device)->name();
  report.isGpu = kind == "cuda";
  auto measured = benchDevice(**device, {.isGpu = report.isGpu,
                                         .tokens = line.tokens,
                                         .seconds = line.seconds,
                                         .progress = showProgress});
  RECIPERUN_TRY(measured);
  report.measurements = *std::move(measured);
  const std::string text = line.format == Format::json     ? toJson(report)
                           : line.format == Format::recipe ? toRecipe(report)
                                                           : toTable(report);
  std::fputs(text.c_str(), stdout);
  return Status::ok();
}

int runBenchDevice(const DeviceArguments& line) {
  const Status status = measure(line);
  if (status.isOk())
    return 0;
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return 1;
}

} // namespace

cli::Command deviceCommand() {
  auto line = std::make_shared<DeviceArguments>();
  return {
      .name = "device",
      .synopsis = "[options]",
      .summary = "what this machine's GPU or CPU sustains",
      .details =
          "Measures the matmuls, attention, experts and copies of a training "
          "step, each alone: Llama 3 8B's on a GPU, a 1B's on a CPU. `fastest` "
          "is the rate before the clock falls, `sustained` the one after. "
          "`--format recipe` declares a hardware with the figures, which "
          "`recipec estimate` predicts with.\n\n"
          "A matmul counts 2 m n k FLOPs. Attention is causal and counts the "
          "matmuls of half of the scores: 2 forward, 4 of the 5 backward.",
      .options = {cli::choice<std::string>(
                      "--device", "KIND",
                      "what to measure; by default the GPU where reciperun was "
                      "built with CUDA",
                      {{"cuda", "cuda", "the first GPU"},
                       {"cpu", "cpu", "the cores of this process"}},
                      line->kind),
                  cli::choice<Format>(
                      "--format", "FORMAT", "what to print; by default a table",
                      {{"table", Format::table, "a line for each op"},
                       {"recipe", Format::recipe, "a recipe file"},
                       {"json", Format::json, "all numbers"}},
                      line->format),
                  cli::number("--tokens", "N",
                              "tokens of a matmul; by default 8192 on a GPU, "
                              "512 on a CPU",
                              1, line->tokens),
                  cli::number("--seconds", "S",
                              "how long to repeat each op; by default 1", 0,
                              line->seconds),
                  cli::number("--threads", "N",
                              "threads of a CPU; by default one for each core",
                              1, line->threads)},
      .operands = {},
      .run = [line] { return runBenchDevice(*line); }};
}

} // namespace reciperun::bench
