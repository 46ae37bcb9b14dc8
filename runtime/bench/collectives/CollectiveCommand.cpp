// See CollectiveCommand.h.

#include "runtime/bench/collectives/CollectiveCommand.h"

#include "runtime/bench/BenchRanks.h"
#include "runtime/bench/collectives/CollectiveRun.h"
#include "runtime/exec/Devices.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

namespace reciperun::bench {
namespace {

std::vector<std::string> wordsOfCall() {
  std::ifstream file("/proc/self/cmdline");
  std::stringstream text;
  text << file.rdbuf();
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word, '\0');)
    words.push_back(word);
  return words;
}

std::vector<std::string> wholeEnvironment() {
  std::vector<std::string> variables;
  for (char** each = environ; each && *each; ++each)
    variables.push_back(*each);
  return variables;
}

/// Refuses nccl-tests' variables for groups and devices.
Status checkVariables() {
  for (const char* name : {"NCCL_TESTS_SPLIT", "NCCL_TESTS_SPLIT_MASK"})
    if (std::getenv(name))
      return Status::error(
          "`" + std::string(name) +
          "` divides the ranks into groups, which this bench does not; unset "
          "it, and start as many ranks as a group has");
  if (std::getenv("NCCL_TESTS_DEVICE"))
    return Status::error(
        "`NCCL_TESTS_DEVICE` is not read; unset it, and choose "
        "GPUs by `CUDA_VISIBLE_DEVICES`");
  return Status::ok();
}

CollectiveSurroundings surroundingsOf(const BenchRank& rank) {
  CollectiveSurroundings surroundings;
  surroundings.ncclVersion = rank.isGpu ? exec::ncclVersion() : 0;
  surroundings.place = rank.place;
  surroundings.arguments = wordsOfCall();
  surroundings.environment = wholeEnvironment();
  if (const char* least = std::getenv("NCCL_TESTS_MIN_BW"))
    surroundings.leastBandwidth = std::atof(least);
  surroundings.print = [](const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  };
  surroundings.failAlone = rank.failAlone;
  return surroundings;
}

int runBenchCollective(const CollectiveArguments& arguments) {
  return runOnRanks({.device = arguments.device,
                     .check = checkVariables,
                     .run = [&](const BenchRank& rank) {
                       return runCollectiveBench(arguments, rank.device,
                                                 rank.communicator, everyRank,
                                                 surroundingsOf(rank));
                     }});
}

std::string detailsOf(CollectiveTest test) {
  std::string details =
      "Measures " + std::string(benchlog::nameOf(test)) +
      " between the ranks that mpirun starts, with the communicators of "
      "training: NCCL between GPUs, without NVLink multicast (NVLS), MPI "
      "between CPUs. The options, the table, "
      "the JSON and the exit code are those of nccl-tests; `-b 8 -e 128M -f 2` "
      "is a usual call.\n\n"
      "`#wrong` counts elements that differ from the exact result, after the "
      "measurement. With NCCL_TESTS_MIN_BW=GB the exit code is 1 where the "
      "average bus bandwidth is below 0.9 times that many GB/s.";
  if (!benchlog::hasInPlaceForm(test))
    details +=
        "\n\nThere is no in-place form: the second half of a row repeats "
        "the first, unchecked.";
  return details;
}

cli::Command collectiveCommand(CollectiveTest test) {
  auto arguments = std::make_shared<CollectiveArguments>();
  arguments->test = test;
  return {.name = std::string(benchlog::nameOf(test)),
          .synopsis = "[options]",
          .summary = "a collective between ranks, like nccl-tests' " +
                     std::string(benchlog::nameOf(test)) + "_perf",
          .details = detailsOf(test),
          .options = collectiveOptions(*arguments),
          .operands = {},
          .check = [arguments] { return checkCollectiveArguments(*arguments); },
          .run = [arguments] { return runBenchCollective(*arguments); }};
}

} // namespace

std::vector<cli::Command> collectiveCommands() {
  std::vector<cli::Command> commands;
  for (CollectiveTest test : benchlog::collectiveTests())
    commands.push_back(collectiveCommand(test));
  return commands;
}

} // namespace reciperun::bench
