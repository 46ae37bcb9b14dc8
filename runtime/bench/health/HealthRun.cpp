// 1. Exchange who the ranks are, and read the earlier run: together, so that a
//    failure of one rank ends all.
// 2. Measure the device while the driver's reasons for low clocks are sampled,
//    then copies with the host, then links in rounds of pairs.
// 3. Gather, compare, print and write on rank 0.

#include "runtime/bench/health/HealthRun.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/base/Text.h"
#include "runtime/bench/DeviceBench.h"
#include "runtime/bench/WaitForDevice.h"
#include "runtime/bench/health/HealthProblems.h"
#include "runtime/bench/health/LinkRounds.h"
#include "runtime/bench/health/LoadSampler.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/topology/FindMachine.h"
#include "runtime/topology/Paths.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>

namespace reciperun::bench {
namespace {

constexpr int64_t cpuElements = int64_t(1) << 23; // of a copy
constexpr int64_t cpuMatmulTokens = 128;
constexpr int64_t gpuLinkBytes = int64_t(64) << 20, cpuLinkBytes = int64_t(4)
                                                                   << 20;
constexpr int gpuLinkCalls = 20, cpuLinkCalls = 8;
constexpr int64_t hostCopyBytes = int64_t(256) << 20;
constexpr int hostCopies = 4;

/// How a figure of the hardware is called in this report.
struct FigureName {
  const char *field, *name, *unit;
};
constexpr FigureName figureNames[] = {
    {"sustained_bf16", "matmul bf16", "FLOP/s"},
    {"sustained_fp8", "matmul fp8", "FLOP/s"},
    {"sustained_bandwidth", "memory", "B/s"},
    {"flops_bf16", "matmul bf16", "FLOP/s"},
    {"flops_fp32", "matmul fp32", "FLOP/s"},
    {"bandwidth", "memory", "B/s"}};

std::string hostName() {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void printLine(const std::string& line) {
  std::printf("%s\n", line.c_str());
}

/// The texts of all ranks, by rank. Collective.
Expected<std::vector<std::string>> gatherTexts(comm::Communicator& communicator,
                                               const std::string& mine) {
  const auto longest = communicator.maximum(int64_t(mine.size()));
  RECIPERUN_TRY(longest);
  const int64_t one[] = {*longest + 1};
  const int64_t many[] = {communicator.ranks() * one[0]};
  std::string own = mine, all;
  own.resize(size_t(one[0]));
  all.resize(size_t(many[0]));
  RECIPERUN_TRY(communicator.host().allGather(
      comm::world, {own.data(), plan::DType::u8, one},
      {all.data(), plan::DType::u8, many}, /*dim=*/0));
  std::vector<std::string> texts;
  for (int rank = 0; rank < communicator.ranks(); ++rank)
    texts.emplace_back(all.data() + rank * one[0]);
  return texts;
}

class HealthRun {
public:
  HealthRun(const HealthArguments& arguments, const BenchRank& rank)
      : arguments(arguments), device(rank.device),
        communicator(rank.communicator), isGpu(rank.isGpu),
        linkBytes(isGpu ? gpuLinkBytes : cpuLinkBytes),
        failAlone(rank.failAlone) {
    mine.rank = communicator.rank();
    mine.host = hostName();
    mine.place = rank.place;
    mine.device = device.name();
    mine.address = device.address();
  }

  Expected<int> run() {
    RECIPERUN_TRY(communicator.agree(isFirst() ? readEarlier() : Status::ok()));
    RECIPERUN_TRY(gatherRanks());
    const Status measured = measure();
    if (!measured.isOk()) {
      failAlone(measured);
      return measured;
    }
    RECIPERUN_TRY(gatherRanks());
    RECIPERUN_TRY(gatherLinks());
    const Expected<int> code = isFirst() ? conclude() : Expected<int>(0);
    RECIPERUN_TRY(communicator.agree(code.status()));
    const auto largest = communicator.maximum(*code);
    RECIPERUN_TRY(largest);
    return int(*largest);
  }

private:
  bool isFirst() const { return communicator.rank() == 0; }

  Status readEarlier();
  Status gatherRanks();
  Status gatherLinks();
  Status measure();
  Status measureDevice();
  Status measureHostCopies();
  Expected<double> hostCopyRate(bool isToDevice, const memory::Arena& arena);
  Status measureLinks();
  Expected<double> linkRate(int other, std::byte* out, std::byte* in);
  std::string kindOf(const topology::Machine& machine, int other) const;
  Expected<int> conclude();

  const HealthArguments& arguments;
  device::Device& device;
  comm::Communicator& communicator;
  bool isGpu;
  int64_t linkBytes;
  std::function<void(const Status&)> failAlone;
  RankHealth mine;
  std::vector<LinkHealth> myLinks; // as this rank has measured them
  HealthReport report;
  std::optional<EarlierHealth> earlier; // on rank 0
};

Status HealthRun::readEarlier() {
  const std::string& path = arguments.comparedPath;
  if (path.empty())
    return Status::ok();
  const auto text = readTextFile(path);
  RECIPERUN_TRY(text.status().withContext("`" + path + "`"));
  auto read = readHealthReport(*text);
  RECIPERUN_TRY(read.status().withContext("`" + path + "`"));
  earlier = EarlierHealth{*std::move(read), path};
  return Status::ok();
}

Status HealthRun::gatherRanks() {
  const auto texts = gatherTexts(communicator, toJson(mine));
  RECIPERUN_TRY(texts);
  report.ranks.clear();
  for (const std::string& text : *texts) {
    auto rank = readRankHealth(text);
    RECIPERUN_TRY(rank);
    report.ranks.push_back(*std::move(rank));
  }
  return Status::ok();
}

/// A link has the lower rate of its two ends.
Status HealthRun::gatherLinks() {
  HealthReport own;
  own.links = myLinks;
  const auto texts = gatherTexts(communicator, toJson(own, {}));
  RECIPERUN_TRY(texts);
  std::map<std::pair<int, int>, LinkHealth> links;
  for (const std::string& text : *texts) {
    const auto read = readHealthReport(text);
    RECIPERUN_TRY(read);
    for (const LinkHealth& link : read->links) {
      const auto [known, isNew] =
          links.try_emplace({link.first, link.second}, link);
      known->second.rate = std::min(known->second.rate, link.rate);
    }
  }
  for (const auto& [ranks, link] : links)
    report.links.push_back(link);
  return Status::ok();
}

// ---- measurements

/// May fail on some ranks.
Status HealthRun::measure() {
  const std::string busId = mine.address.empty() ? "" : mine.address + ".0";
  LoadSampler sampler(arguments.nvml, busId);
  RECIPERUN_TRY(communicator.agree(Status::ok()));
  RECIPERUN_TRY(measureDevice());
  if (isGpu)
    RECIPERUN_TRY(measureHostCopies());
  RECIPERUN_TRY(measureLinks());
  if (const auto samples = sampler.finish())
    addDriverFindings(*samples, mine);
  return Status::ok();
}

Status HealthRun::measureDevice() {
  const auto measured =
      benchDevice(device, {.isGpu = isGpu,
                           .tokens = isGpu ? 0 : cpuMatmulTokens,
                           .copied = isGpu ? 0 : cpuElements,
                           .seconds = arguments.seconds,
                           .isShort = true});
  RECIPERUN_TRY(measured);
  for (const HardwareFigure& figure : hardwareFigures(*measured, isGpu))
    for (const FigureName& each : figureNames)
      if (figure.field == each.field)
        mine.figures.push_back({each.name, each.unit, figure.value});
  return Status::ok();
}

Status HealthRun::measureHostCopies() {
  const auto arena = device.allocate(hostCopyBytes, hostCopyBytes);
  RECIPERUN_TRY(arena);
  for (const bool isToDevice : {true, false}) {
    const auto rate = hostCopyRate(isToDevice, *arena);
    RECIPERUN_TRY(rate);
    mine.figures.push_back(
        {isToDevice ? "from host" : "to host", "B/s", *rate});
  }
  return Status::ok();
}

Expected<double> HealthRun::hostCopyRate(bool isToDevice,
                                         const memory::Arena& arena) {
  const device::StridedCopy copy = {
      isToDevice ? arena.base() : arena.hostBase(),
      isToDevice ? arena.hostBase() : arena.base(), hostCopyBytes};
  RECIPERUN_TRY(device.copy({&copy, 1}));
  const int begin = device.mark();
  for (int i = 0; i < hostCopies; ++i)
    RECIPERUN_TRY(device.copy({&copy, 1}));
  const int end = device.mark();
  RECIPERUN_TRY(waitUntilIdle(device));
  const double seconds = device.seconds(begin, end);
  device.forgetMarks();
  return double(hostCopyBytes) * hostCopies / seconds;
}

/// What connects this rank with another: the path between their GPUs, memory
/// between ranks of a host, or the network.
std::string HealthRun::kindOf(const topology::Machine& machine,
                              int other) const {
  const RankHealth& rank = report.ranks[size_t(other)];
  if (rank.host != mine.host)
    return "network";
  const auto find = [&](const std::string& address) {
    return std::ranges::find_if(machine.gpus, [&](const topology::Gpu& gpu) {
      return !address.empty() && gpu.pci.busId == address + ".0";
    });
  };
  const auto a = find(mine.address), b = find(rank.address);
  if (a == machine.gpus.end() || b == machine.gpus.end())
    return isGpu ? "GPU" : "memory";
  return topology::pathText(machine, *a, *b);
}

Status HealthRun::measureLinks() {
  std::vector<int> hosts;
  for (const RankHealth& rank : report.ranks)
    hosts.push_back(
        int(std::ranges::find(report.ranks, rank.host, &RankHealth::host) -
            report.ranks.begin()));
  topology::Machine machine;
  if (isGpu) {
    auto found = topology::findMachine({.nvml = arguments.nvml});
    RECIPERUN_TRY(found);
    machine = *std::move(found);
  }
  const auto out = device.allocate(linkBytes, 0);
  RECIPERUN_TRY(out);
  const auto in = device.allocate(linkBytes, 0);
  RECIPERUN_TRY(in);
  for (const std::vector<RankPair>& round : linkRounds(hosts)) {
    RECIPERUN_TRY(communicator.agree(Status::ok()));
    for (const RankPair& pair : round) {
      if (pair.first != mine.rank && pair.second != mine.rank)
        continue;
      const int other = pair.first == mine.rank ? pair.second : pair.first;
      const auto rate = linkRate(other, out->base(), in->base());
      RECIPERUN_TRY(rate);
      myLinks.push_back(
          {pair.first, pair.second, kindOf(machine, other), *rate});
    }
  }
  return Status::ok();
}

/// Bytes a second in each direction.
Expected<double> HealthRun::linkRate(int other, std::byte* out, std::byte* in) {
  using Clock = std::chrono::steady_clock;
  const int64_t shape[] = {linkBytes};
  const comm::Transfer send = {other, {out, plan::DType::u8, shape}},
                       receive = {other, {in, plan::DType::u8, shape}};
  const int calls = isGpu ? gpuLinkCalls : cpuLinkCalls;
  Clock::time_point start;
  for (int i = -2; i < calls; ++i) { // the first two connect the ranks
    if (i == 0) {
      RECIPERUN_TRY(waitUntilIdle(device));
      start = Clock::now();
    }
    RECIPERUN_TRY(communicator.transfer(everyRank, {&send, 1}, {&receive, 1}));
  }
  RECIPERUN_TRY(waitUntilIdle(device));
  const std::chrono::duration<double> spent = Clock::now() - start;
  return double(linkBytes) * calls / std::max(spent.count(), 1e-9);
}

// ---- results

/// Returns the exit code.
Expected<int> HealthRun::conclude() {
  const std::vector<std::string> problems =
      problemsOf(report, arguments.tolerance, earlier ? &*earlier : nullptr);
  std::fputs(tableOf(report).c_str(), stdout);
  for (const RankHealth& rank : report.ranks)
    for (const std::string& note : rank.notes)
      printLine("note: " + nameOf(rank) + ": " + note);
  if (report.ranks.size() == 1 && !earlier)
    printLine("note: one rank has nothing to compare with; start one for each "
              "GPU, or give `--compare FILE`");
  for (const std::string& problem : problems)
    printLine("problem: " + problem);
  printLine(problems.empty()
                ? formatted("all rates are within %g %%", arguments.tolerance)
                : std::to_string(problems.size()) +
                      (problems.size() == 1 ? " problem" : " problems"));
  if (!arguments.outputPath.empty())
    RECIPERUN_TRY(checkpoint::writeTextFile(arguments.outputPath,
                                            toJson(report, problems)));
  return problems.empty() ? 0 : 1;
}

} // namespace

Expected<int> runHealth(const HealthArguments& arguments,
                        const BenchRank& rank) {
  return HealthRun(arguments, rank).run();
}

} // namespace reciperun::bench
