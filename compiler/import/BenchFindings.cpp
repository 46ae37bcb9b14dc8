// See BenchFindings.h. Each printed number stands for the interval that rounds
// to it, and a contradiction is an empty intersection.

#include "compiler/import/BenchFindings.h"

#include "runtime/benchlog/CollectiveTest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace recipec::importer {
namespace {

struct Interval {
  double low = 0, high = 0;

  bool meets(const Interval& other) const {
    return low <= other.high && other.low <= high;
  }
  bool holds(double value) const { return value >= low && value <= high; }
};

Interval intervalOf(const benchlog::Figure& figure) {
  return {std::max(0.0, figure.value - figure.rounding),
          figure.value + figure.rounding};
}

/// The quotients of two positive intervals.
Interval quotientOf(const Interval& a, const Interval& b) {
  return {a.low / b.high,
          b.low > 0 ? a.high / b.low : std::numeric_limits<double>::infinity()};
}

std::string figureText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// The halves of a row, with the name of each.
struct NamedHalf {
  const char* name;
  const benchlog::Half* half;
};
std::vector<NamedHalf> halvesOf(const benchlog::Row& row) {
  std::vector<NamedHalf> halves;
  if (row.outOfPlace)
    halves.push_back({"out-of-place", &*row.outOfPlace});
  if (row.inPlace)
    halves.push_back({"in-place", &*row.inPlace});
  return halves;
}

// ---- ranks

/// The numbers of ranks that a half allows, not rounded to whole numbers.
std::optional<Interval> ranksOf(benchlog::CollectiveTest test,
                                const benchlog::Half& half) {
  const Interval algorithm = intervalOf(half.algorithm),
                 bus = intervalOf(half.bus);
  if (algorithm.low <= 0 || bus.low <= 0)
    return std::nullopt;
  const Interval factors = quotientOf(bus, algorithm);
  const auto least = benchlog::ranksOfFactor(test, factors.low);
  if (!least)
    return std::nullopt;
  const auto most = benchlog::ranksOfFactor(test, factors.high);
  return Interval{*least,
                  most.value_or(std::numeric_limits<double>::infinity())};
}

/// Whole numbers a little outside are of the doubles' own rounding.
constexpr double slack = 1e-6;

RankBounds wholeNumbers(const Interval& ranks) {
  constexpr double mostRanks = 1e9;
  RankBounds bounds;
  bounds.least = int64_t(std::ceil(ranks.low - slack));
  bounds.most = int64_t(std::floor(std::min(ranks.high, mostRanks) + slack));
  return bounds;
}

/// Collects the findings of one log.
class BenchInspector {
public:
  BenchInspector(const benchlog::BenchLog& log, SourceId source,
                 diag::Engine& engine)
      : log(log), source(source), engine(engine), test(benchlog::testOf(log)) {}

  void inspect(const std::vector<RankClaim>& claims) {
    for (const benchlog::Row& row : log.rows) {
      reportWrong(row);
      reportRate(row);
      reportFactor(row);
    }
    reportClaims(claims);
    reportSettings();
    reportAverage();
    reportLink();
  }

private:
  SourceRange rangeOf(const benchlog::TextSpan& span) const {
    return span.end > span.begin
               ? SourceRange{source, uint32_t(span.begin), uint32_t(span.end)}
               : SourceRange{};
  }
  diag::Builder contradict(const benchlog::TextSpan& span,
                           std::string message) {
    return engine.report(diag::Kind::BenchContradiction, rangeOf(span),
                         std::move(message));
  }
  /// Names a row where its text has no place.
  static std::string nameOf(const benchlog::Row& row) {
    return "the row of " + std::to_string(row.size) + " bytes";
  }

  void reportWrong(const benchlog::Row& row);
  void reportRate(const benchlog::Row& row);
  void reportFactor(const benchlog::Row& row);
  void reportClaims(const std::vector<RankClaim>& claims);
  void reportSettings();
  void reportAverage();
  void reportLink();

  const benchlog::BenchLog& log;
  SourceId source;
  diag::Engine& engine;
  std::optional<benchlog::CollectiveTest> test;
  std::optional<Interval> ranks; // of the rows so far
};

void BenchInspector::reportWrong(const benchlog::Row& row) {
  for (const auto& [name, half] : halvesOf(row))
    if (half->wrong.value_or(0) > 0)
      engine
          .report(diag::Kind::BenchWrongElements, rangeOf(row.span),
                  figureText(*half->wrong) + " elements of " + nameOf(row) +
                      " are wrong, " + name)
          .help(
              "a bandwidth with wrong results means nothing: find the host at "
              "fault by runs that leave each out");
}

/// algbw = bytes / time; the bytes are the row's size, but a hypercube leaves
/// out each rank's own part.
void BenchInspector::reportRate(const benchlog::Row& row) {
  if (row.size == 0 || test == benchlog::CollectiveTest::hypercube)
    return;
  for (const auto& [name, half] : halvesOf(row)) {
    const double kilobytes = double(row.size) / 1e3;
    const Interval rate = quotientOf(Interval{kilobytes, kilobytes},
                                     intervalOf(half->microseconds));
    // nccl-tests prints the mean of times and of bandwidths alike.
    constexpr double ownRounding = 1e-3;
    const Interval wide = {rate.low * (1 - ownRounding),
                           rate.high * (1 + ownRounding)};
    if (!wide.meets(intervalOf(half->algorithm)))
      contradict(
          row.span,
          nameOf(row) + " has algbw = " + figureText(half->algorithm.value) +
              " GB/s " + name + ", but size / time is " +
              figureText(kilobytes / half->microseconds.value) + " GB/s");
  }
}

void BenchInspector::reportFactor(const benchlog::Row& row) {
  if (!test)
    return;
  for (const auto& [name, half] : halvesOf(row)) {
    const auto own = ranksOf(*test, *half);
    if (!own)
      continue;
    const Interval before =
        ranks.value_or(Interval{0, std::numeric_limits<double>::infinity()});
    const Interval both = {std::max(before.low, own->low - slack),
                           std::min(before.high, own->high + slack)};
    if (both.low <= both.high) {
      ranks = both;
      continue;
    }
    contradict(row.span, nameOf(row) + " is of " + textOf(wholeNumbers(*own)) +
                             " ranks, " + name +
                             ", and the rows before it are of " +
                             textOf(wholeNumbers(before)))
        .note("busbw / algbw is " +
              figureText(half->bus.value / half->algorithm.value));
  }
}

void BenchInspector::reportClaims(const std::vector<RankClaim>& claims) {
  const auto bounds = boundsOfRanks(log);
  if (!bounds)
    return;
  const std::string formula = test == benchlog::CollectiveTest::allReduce
                                  ? "2 (n - 1) / n"
                                  : "(n - 1) / n";
  std::vector<int64_t> reported;
  for (const RankClaim& claim : claims) {
    if (bounds->allows(claim.ranks) ||
        std::ranges::find(reported, claim.ranks) != reported.end())
      continue;
    reported.push_back(claim.ranks);
    engine
        .report(diag::Kind::BenchContradiction, claim.range,
                "`" + claim.text + "` stands for " +
                    std::to_string(claim.ranks) +
                    " ranks, and the rows are of " + textOf(*bounds))
        .note("busbw / algbw is " + figureText(bounds->factor) + ", which is " +
              formula + " for n = " + textOf(*bounds));
  }
}

void BenchInspector::reportSettings() {
  if (!log.settings)
    return;
  const int64_t most = log.settings->maxBytes;
  const auto above = std::ranges::count_if(
      log.rows, [&](const benchlog::Row& row) { return row.size > most; });
  if (above == 0)
    return;
  const benchlog::Row& largest =
      *std::ranges::max_element(log.rows, {}, &benchlog::Row::size);
  contradict(log.settings->span,
             "the settings end at `maxBytes` = " + std::to_string(most) +
                 ", and " + std::to_string(above) +
                 (above == 1 ? " row is" : " rows are") + " above it, up to " +
                 std::to_string(largest.size))
      .note("the largest row", rangeOf(largest.span));
}

void BenchInspector::reportAverage() {
  if (!log.average)
    return;
  const double average = benchlog::averageBus(log.rows);
  double rounding = log.average->rounding;
  size_t halves = 0;
  for (const benchlog::Row& row : log.rows)
    for (const auto& each : halvesOf(row)) {
      rounding =
          std::max(rounding, each.half->bus.rounding + log.average->rounding);
      ++halves;
    }
  if (std::abs(average - log.average->value) <= rounding * (1 + slack))
    return;
  contradict(log.averageSpan,
             "the log's average is " + figureText(log.average->value) +
                 " GB/s, and its rows have " + figureText(average) + " GB/s")
      .note("the average is the mean of the bus bandwidths of all rows, out of "
            "place and in place: " +
            std::to_string(halves) + " here");
}

/// GB/s that NVLink carries from a GPU, by a part of the GPU's name. Later
/// names contain earlier ones.
struct GpuLink {
  const char* gpu;
  double rate;
};
constexpr GpuLink gpuLinks[] = {{"A100", 300}, {"A800", 200}, {"H100", 450},
                                {"H200", 450}, {"H20", 450},  {"B200", 900},
                                {"B300", 900}};

const GpuLink* linkOf(const std::vector<benchlog::RankLine>& ranks) {
  for (const benchlog::RankLine& rank : ranks)
    for (const GpuLink& link : gpuLinks)
      if (rank.name.find(link.gpu) != rank.name.npos)
        return &link;
  return nullptr;
}

void BenchInspector::reportLink() {
  const GpuLink* link = linkOf(log.ranks);
  if (!link || !test)
    return;
  const benchlog::Row* fastest = nullptr;
  double bus = link->rate;
  for (const benchlog::Row& row : log.rows)
    for (const auto& each : halvesOf(row))
      if (each.half->bus.value > bus) {
        bus = each.half->bus.value;
        fastest = &row;
      }
  if (!fastest)
    return;
  engine
      .report(diag::Kind::BenchAboveLink, rangeOf(fastest->span),
              "the bus bandwidth of " + figureText(bus) +
                  " GB/s is above the " + figureText(link->rate) +
                  " GB/s of NVLink of " + link->gpu)
      .help("NVLS explains it: with `NCCL_NVLS_ENABLE=0` the test shows the "
            "rate of the links");
}

} // namespace

std::optional<RankBounds> boundsOfRanks(const benchlog::BenchLog& log) {
  const auto test = benchlog::testOf(log);
  if (!test)
    return std::nullopt;
  std::optional<Interval> all;
  RankBounds narrowest;
  double narrowestWidth = std::numeric_limits<double>::infinity();
  for (const benchlog::Row& row : log.rows)
    for (const auto& each : halvesOf(row)) {
      const auto own = ranksOf(*test, *each.half);
      if (!own)
        continue;
      if (own->high - own->low < narrowestWidth) {
        narrowestWidth = own->high - own->low;
        narrowest.factor = each.half->bus.value / each.half->algorithm.value;
      }
      const Interval before = all.value_or(*own);
      const Interval both = {std::max(before.low, own->low),
                             std::min(before.high, own->high)};
      if (both.low <= both.high + 2 * slack)
        all = both;
    }
  if (!all)
    return std::nullopt;
  RankBounds bounds = wholeNumbers(*all);
  bounds.factor = narrowest.factor;
  if (bounds.least > bounds.most)
    return std::nullopt;
  return bounds;
}

std::string textOf(const RankBounds& bounds) {
  return bounds.least >= bounds.most ? std::to_string(bounds.least)
                                     : std::to_string(bounds.least) + " to " +
                                           std::to_string(bounds.most);
}

void reportFindings(const benchlog::BenchLog& log,
                    const std::vector<RankClaim>& claims, SourceId source,
                    diag::Engine& engine) {
  BenchInspector(log, source, engine).inspect(claims);
}

} // namespace recipec::importer
