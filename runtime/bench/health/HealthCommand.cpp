// See HealthCommand.h.

#include "runtime/bench/health/HealthCommand.h"

#include "runtime/bench/health/HealthRun.h"
#include "runtime/cli/Options.h"

#include <memory>

namespace reciperun::bench {
namespace {

int runBenchHealth(const HealthArguments& arguments) {
  return runOnRanks(
      {.device = arguments.device, .run = [&](const BenchRank& rank) {
         return runHealth(arguments, rank);
       }});
}

std::vector<cli::Option> healthOptions(HealthArguments& arguments) {
  cli::Option output =
      cli::text("--output_file", "FILE", "also write the results as JSON",
                arguments.outputPath);
  output.shortName = "-J";
  return {cli::choice<std::string>(
              "--device", "KIND",
              "what to measure; by default GPUs where reciperun was built with "
              "CUDA",
              {{"cuda", "cuda", "one GPU of each rank"},
               {"cpu", "cpu", "the cores of each rank"}},
              arguments.device),
          cli::number("--seconds", "S",
                      "how long to repeat each measurement; by default 1", 0,
                      arguments.seconds),
          cli::number("--tolerance", "PERCENT",
                      "how far a rate may be below the median; by default 10",
                      0, arguments.tolerance),
          cli::text("--compare", "FILE",
                    "also compare with the medians of an earlier run's JSON",
                    arguments.comparedPath),
          std::move(output)};
}

} // namespace

cli::Command healthCommand() {
  auto arguments = std::make_shared<HealthArguments>();
  return {.name = "health",
          .synopsis = "[options]",
          .summary = "find the slow GPU or link of a job",
          .details =
              "Started by mpirun with one rank for each GPU. All ranks measure "
              "at the same time: matmuls in bf16 and fp8, memory, copies from "
              "and to the host, then the links of all pairs of ranks of a host "
              "and of neighbours on other hosts. A GPU or a link that is "
              "slower than the median of its kind by more than the tolerance "
              "is named with its factor. So are errors of memory, NVLink and "
              "PCIe, heat, and a lowered power limit, by NVML.\n\n"
              "The exit code is 1 where there is a problem, for a gate before "
              "a job.",
          .options = healthOptions(*arguments),
          .operands = {},
          .run = [arguments] { return runBenchHealth(*arguments); }};
}

} // namespace reciperun::bench
