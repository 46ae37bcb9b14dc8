// 1. Set the environment of the libraries and start MPI.
// 2. Open the rank's device and connect the ranks by a plan without a program.
// 3. Run.

#include "runtime/bench/collectives/CollectiveCommand.h"

#include "runtime/bench/collectives/CollectiveRun.h"
#include "runtime/exec/Devices.h"
#include "runtime/exec/RankDevice.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>

namespace reciperun::bench {
namespace {

/// The plan's group of all ranks.
constexpr int everyRank = 0;

/// A plan whose ranks are one group, connected by NCCL without a limit on its
/// width.
plan::Plan planOf(const std::string& kind, int ranks, int ranksPerHost) {
  plan::Plan made;
  made.device = kind;
  made.mesh.ranks = ranks;
  made.mesh.axes = {{"dp", ranks}};
  made.mesh.groups = {{"all", {"dp"}}};
  made.stages.resize(1);
  if (kind != "cuda")
    return made;
  plan::GroupConnection all;
  all.axes = {"dp"};
  all.groups = {everyRank};
  made.connections.emplace();
  made.connections->ranksPerNode = ranksPerHost;
  made.connections->groups = {all};
  return made;
}

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

/// Refuses what would not be measured as asked: buffers on GPUs without CUDA,
/// and nccl-tests' variables for groups and devices.
Status checkRequest(const std::string& kind) {
  if (kind == "cuda" && exec::gpuNames().empty())
    return Status::error(
        "this reciperun was built without CUDA; leave out "
        "`--device cuda`, or build it where CUDA 12.9 or later "
        "is");
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

Expected<CollectiveSurroundings> surroundingsOf(comm::MpiSession& session,
                                                bool isGpu) {
  CollectiveSurroundings surroundings;
  surroundings.ncclVersion = isGpu ? exec::ncclVersion() : 0;
  const Expected<int> place = session.placeOnHost();
  RECIPERUN_TRY(place);
  surroundings.place = *place;
  surroundings.arguments = wordsOfCall();
  surroundings.environment = wholeEnvironment();
  if (const char* least = std::getenv("NCCL_TESTS_MIN_BW"))
    surroundings.leastBandwidth = std::atof(least);
  surroundings.print = [](const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  };
  return surroundings;
}

[[noreturn]] void failAlone(comm::MpiSession& session,
                            const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "rank %d: error: %s\n", session.rank(), message.c_str());
  session.abort(1);
}

/// Fails on all ranks with one message.
Expected<int> runOnRank(comm::MpiSession& session,
                        const CollectiveArguments& arguments,
                        const std::string& kind) {
  RECIPERUN_TRY(session.agree(session.environment()));
  RECIPERUN_TRY(session.agree(checkRequest(kind)));
  const Expected<int> threads = exec::threadsOfRank(session);
  RECIPERUN_TRY(session.agree(threads.status()));
  const std::byte same[] = {std::byte(0)};
  const Expected<int> onHost = session.countOnHost(same);
  RECIPERUN_TRY(session.agree(onHost.status()));
  const plan::Plan plan = planOf(kind, session.ranks(), *onHost);
  auto rank = exec::openRank(session, plan, *threads);
  RECIPERUN_TRY(rank);
  auto surroundings = surroundingsOf(session, kind == "cuda");
  RECIPERUN_TRY(session.agree(surroundings.status()));
  surroundings->failAlone = [&](const Status& status) {
    failAlone(session, status.message());
  };
  return runCollectiveBench(arguments, *rank->device, *rank->communicator,
                            everyRank, *surroundings);
}

int runBenchCollective(const CollectiveArguments& arguments) {
  std::string kind = arguments.device;
  if (kind.empty())
    kind = exec::gpuNames().empty() ? "cpu" : "cuda";
  device::setEnvironment(exec::environmentOf(planOf(kind, 2, 2)));
  auto session = comm::MpiSession::start();
  if (!session) {
    std::fprintf(stderr, "error: %s\n", session.message().c_str());
    return 1;
  }
  try {
    const Expected<int> code = runOnRank(*session, arguments, kind);
    if (code)
      return *code;
    if (session->rank() == 0)
      std::fprintf(stderr, "error: %s\n", code.message().c_str());
    return 1;
  } catch (const std::exception& exception) {
    failAlone(*session, exception.what());
  }
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
