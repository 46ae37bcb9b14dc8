// 1. Check the ranks, read the earlier log, open the JSON file: together, so
//    that a failure of one rank ends all.
// 2. Allocate, and print the header.
// 3. Measure each kind, and print its rows.
// 4. Print the footer, write the JSON, compare.

#include "runtime/bench/collectives/CollectiveRun.h"

#include "runtime/bench/collectives/CompareLogs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace reciperun::bench {
namespace {

using benchlog::BenchLog;
using benchlog::RankLine;

constexpr double bandwidthTolerance = 0.9; // of NCCL_TESTS_MIN_BW

// ---- the ranks

/// A rank's line of the table, in a fixed size for the all-gather.
struct RankRecord {
  int64_t pid = 0;
  int64_t device = 0;
  std::array<char, 64> host = {}, address = {}, name = {};
};

template <size_t size>
void copyText(std::array<char, size>& to, const std::string& text) {
  std::snprintf(to.data(), to.size(), "%s", text.c_str());
}

Expected<std::vector<RankLine>> linesOfRanks(const device::Device& device,
                                             comm::Communicator& communicator,
                                             int place) {
  RankRecord mine;
  mine.pid = getpid();
  mine.device = place;
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  copyText(mine.host, host.data());
  const std::string address = device.address();
  copyText(mine.address, address.empty() ? "0000:00:00" : address);
  copyText(mine.name, device.name());
  const int ranks = communicator.ranks();
  std::vector<RankRecord> all(static_cast<size_t>(ranks));
  const int64_t one[] = {int64_t(sizeof(RankRecord))};
  const int64_t many[] = {ranks * one[0]};
  RECIPERUN_TRY(communicator.host().allGather(
      comm::world, {&mine, plan::DType::u8, one},
      {all.data(), plan::DType::u8, many}, /*dim=*/0));
  std::vector<RankLine> lines;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankRecord& each = all[size_t(rank)];
    lines.push_back({rank, 0, each.pid, each.host.data(), int(each.device),
                     each.address.data(), each.name.data()});
  }
  return lines;
}

Status checkRanks(const CollectiveArguments& arguments, int ranks) {
  const std::string count = std::to_string(ranks);
  if (benchlog::hasRoot(arguments.test) && arguments.root >= ranks)
    return Status::error("`--root` = " + std::to_string(arguments.root) +
                         " is no rank of a job of " + count +
                         "; ranks count from 0");
  if (arguments.test == CollectiveTest::hypercube &&
      !std::has_single_bit(unsigned(ranks)))
    return Status::error(
        "a hypercube has 2, 4, 8, ... ranks, and this job has " + count +
        "; measure `all_gather`");
  return Status::ok();
}

// ---- the JSON file

/// A new file, which is removed again unless it is written.
class NewFile {
public:
  /// Like nccl-tests, takes `PATH.0`, `PATH.1`, ... where the file exists.
  static Expected<std::unique_ptr<NewFile>> create(const std::string& path) {
    constexpr int mostTries = 10'000;
    for (int i = -1; i < mostTries; ++i) {
      const std::string tried = i < 0 ? path : path + "." + std::to_string(i);
      if (std::FILE* file = std::fopen(tried.c_str(), "wx"))
        return std::unique_ptr<NewFile>(new NewFile(tried, file));
      if (errno != EEXIST)
        return Status::error("`" + tried +
                             "` cannot be written: " + std::strerror(errno));
    }
    return Status::error("`" + path + "` and `" + path + ".0` up to `" + path +
                         "." + std::to_string(mostTries - 1) +
                         "` exist: remove some, or name another file");
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!file)
      return;
    std::fclose(file);
    std::remove(path.c_str());
  }

  Status write(const std::string& text) {
    const bool isComplete = std::fputs(text.c_str(), file) >= 0;
    const int result = std::fclose(std::exchange(file, nullptr));
    return isComplete && result == 0
               ? Status::ok()
               : Status::error("`" + path +
                               "` cannot be written: " + std::strerror(errno));
  }

  const std::string path;

private:
  NewFile(std::string path, std::FILE* file)
      : path(std::move(path)), file(file) {}

  std::FILE* file;
};

// ---- the run

class CollectiveRun {
public:
  CollectiveRun(const CollectiveArguments& arguments, device::Device& device,
                comm::Communicator& communicator, int group,
                const CollectiveSurroundings& surroundings)
      : arguments(arguments), device(device), communicator(communicator),
        surroundings(surroundings),
        bench(arguments.bench, device, communicator, group) {}

  Expected<int> run() {
    const comm::Watch::Pace pace(communicator.watch(), timeout());
    RECIPERUN_TRY(prepare());
    RECIPERUN_TRY(bench.allocate());
    const Status measured = measure();
    if (!measured.isOk()) {
      surroundings.failAlone(measured);
      return measured;
    }
    finishLog();
    return agreeOn(isFirst() ? conclude() : Expected<int>(0));
  }

private:
  bool isFirst() const { return communicator.rank() == 0; }
  std::optional<comm::Watch::Duration> timeout() const {
    if (arguments.timeout <= 0)
      return std::nullopt;
    return std::chrono::duration_cast<comm::Watch::Duration>(
        std::chrono::duration<double>(arguments.timeout));
  }

  Status prepare();
  Status openFiles();
  Status measure();
  Status describe();
  void take(const benchlog::Row& row);
  void finishLog();
  Expected<int> conclude();
  Expected<int> agreeOn(const Expected<int>& code);

  const CollectiveArguments& arguments;
  device::Device& device;
  comm::Communicator& communicator;
  const CollectiveSurroundings& surroundings;
  CollectiveBench bench;
  BenchLog log;
  std::optional<BenchLog> earlier; // on rank 0
  std::unique_ptr<NewFile> json;   // on rank 0
};

Status CollectiveRun::prepare() {
  RECIPERUN_TRY(checkRanks(arguments, communicator.ranks()));
  if (arguments.bench.graph > 0 && !device.records())
    return Status::error("`--cudagraph` needs a GPU: the buffers are on " +
                         device.name() + " of a CPU");
  return communicator.agree(isFirst() ? openFiles() : Status::ok());
}

Status CollectiveRun::openFiles() {
  if (!arguments.comparedPath.empty()) {
    auto read = readEarlierLog(arguments.comparedPath,
                               std::string(benchlog::nameOf(arguments.test)));
    RECIPERUN_TRY(read);
    earlier = *std::move(read);
  }
  if (!arguments.outputPath.empty()) {
    auto created = NewFile::create(arguments.outputPath);
    RECIPERUN_TRY(created);
    json = *std::move(created);
    surroundings.print("# Writing JSON output to " + json->path + "\n");
  }
  return Status::ok();
}

/// May fail on some ranks.
Status CollectiveRun::measure() {
  RECIPERUN_TRY(describe());
  for (int cycle = 0; cycle < arguments.cycles; ++cycle)
    for (const CollectiveKind& kind : arguments.kinds(communicator.ranks()))
      RECIPERUN_TRY(bench.measure(kind, [&](benchlog::Row row) { take(row); }));
  return Status::ok();
}

/// Fills the log's head and prints it.
Status CollectiveRun::describe() {
  const CollectiveBenchOptions& options = arguments.bench;
  log.test = benchlog::nameOf(arguments.test);
  log.arguments = surroundings.arguments;
  log.environment = describingVariables(surroundings.environment);
  log.ncclVersion = surroundings.ncclVersion;
  log.startTime = localTimeNow();
  benchlog::Settings settings;
  settings.minBytes = options.minBytes;
  settings.maxBytes = options.maxBytes;
  settings.isFactor = options.stepFactor > 1;
  settings.step = settings.isFactor ? options.stepFactor : options.stepBytes;
  settings.warmups = options.warmups;
  settings.iterations = options.iterations;
  settings.aggregated = options.aggregated;
  settings.validation = options.checks;
  settings.graph = options.graph;
  settings.blocking = options.blocking;
  log.settings = settings;
  auto lines = linesOfRanks(device, communicator, surroundings.place);
  RECIPERUN_TRY(lines);
  log.ranks = *std::move(lines);
  if (isFirst())
    surroundings.print(benchlog::headerText(
        log,
        "reciperun version " RECIPERUN_VERSION " nccl-library=" +
            std::to_string(surroundings.ncclVersion),
        options.measuresHost, options.hasTimestamps));
  return Status::ok();
}

void CollectiveRun::take(const benchlog::Row& row) {
  log.rows.push_back(row);
  if (isFirst())
    surroundings.print(benchlog::rowText(row));
}

void CollectiveRun::finishLog() {
  int64_t failed = 0;
  for (const benchlog::Row& row : log.rows)
    for (const auto& half : {row.outOfPlace, row.inPlace})
      failed += half && half->wrong.value_or(0) > 0;
  log.outOfBounds = failed;
  const double average = benchlog::averageBus(log.rows);
  log.average = benchlog::Figure{average};
  const double least = surroundings.leastBandwidth;
  if (least >= 0)
    log.verdict = average < bandwidthTolerance * least ? "FAILED" : "OK";
  log.endTime = localTimeNow();
}

/// Prints and writes the results; returns the exit code.
Expected<int> CollectiveRun::conclude() {
  surroundings.print(benchlog::footerText(log));
  if (json)
    RECIPERUN_TRY(
        json->write(benchlog::toJson(log, arguments.bench.measuresHost)));
  int code = *log.outOfBounds > 0 || log.verdict == "FAILED" ? 1 : 0;
  if (!earlier)
    return code;
  const auto comparison =
      compareLogs(*earlier, log, arguments.tolerance, arguments.comparedPath);
  RECIPERUN_TRY(comparison);
  surroundings.print(comparison->text);
  return comparison->slower > 0 ? 1 : code;
}

/// Rank 0's exit code, on all ranks.
Expected<int> CollectiveRun::agreeOn(const Expected<int>& code) {
  RECIPERUN_TRY(communicator.agree(code.status()));
  const auto largest = communicator.maximum(*code);
  RECIPERUN_TRY(largest);
  return int(*largest);
}

// ---- the environment

bool hasAny(std::string_view text, std::initializer_list<const char*> parts) {
  return std::ranges::any_of(
      parts, [&](const char* part) { return text.find(part) != text.npos; });
}

bool beginsWithAny(std::string_view text,
                   std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(
      beginnings, [&](const char* each) { return text.starts_with(each); });
}

} // namespace

std::vector<std::string>
describingVariables(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!beginsWithAny(name, {"NCCL_", "CUDA_", "NVIDIA_", "NVSHMEM_", "OMPI_",
                              "OMP_", "PMIX_", "UCX_", "FI_", "SLURM_",
                              "SHARP_", "RECIPERUN_", "LD_LIBRARY_PATH"}))
      continue;
    const bool maySecret =
        hasAny(name, {"TOKEN", "SECRET", "PASS", "KEY", "CREDENTIAL", "JWT",
                      "AUTH", "COOKIE", "CERT", "_URI", "PRIVATE", "MUNGE"});
    kept.push_back(maySecret ? name + "=(hidden)" : variable);
  }
  std::ranges::sort(kept);
  return kept;
}

Expected<int> runCollectiveBench(const CollectiveArguments& arguments,
                                 device::Device& device,
                                 comm::Communicator& communicator, int group,
                                 const CollectiveSurroundings& surroundings) {
  return CollectiveRun(arguments, device, communicator, group, surroundings)
      .run();
}

} // namespace reciperun::bench
