// 1. Compare each rate with the median of its kind, now and in an earlier run.
// 2. Attribute slow links: to a rank with more slow links than good ones of a
//    kind, or to themselves.
// 3. Add the faults.

#include "runtime/bench/health/HealthProblems.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>

namespace reciperun::bench {
namespace {

/// The larger of the middle ones of an even number; nullopt of none.
std::optional<double> medianOf(std::vector<double> rates) {
  if (rates.empty())
    return std::nullopt;
  const auto middle = rates.begin() + std::ptrdiff_t(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  return *middle;
}

std::optional<double> medianOfFigure(const HealthReport& report,
                                     const std::string& device,
                                     const std::string& figure) {
  std::vector<double> rates;
  for (const RankHealth& rank : report.ranks)
    if (rank.device == device)
      for (const HealthFigure& each : rank.figures)
        if (each.name == figure)
          rates.push_back(each.rate);
  return medianOf(std::move(rates));
}

/// The median over the ranks of the best link of each: one bad rank slows most
/// links of a small job, but only its own best.
std::optional<double> medianOfBestLinks(const HealthReport& report,
                                        const std::string& kind) {
  std::map<int, double> best;
  for (const LinkHealth& link : report.links)
    if (link.kind == kind)
      for (const int rank : {link.first, link.second})
        best[rank] = std::max(best[rank], link.rate);
  std::vector<double> rates;
  for (const auto& [rank, rate] : best)
    rates.push_back(rate);
  return medianOf(std::move(rates));
}

/// A rate that others should reach.
struct Reference {
  double rate = 0;
  std::string source; // `the median of 8 ranks`
};

class ProblemFinder {
public:
  ProblemFinder(const HealthReport& report, double tolerance,
                const EarlierHealth* earlier)
      : report(report), least(1 - tolerance / 100), earlier(earlier) {}

  std::vector<std::string> find() {
    for (const RankHealth& rank : report.ranks) {
      for (const HealthFigure& figure : rank.figures)
        compareFigure(rank, figure);
      for (const std::string& fault : rank.faults)
        problems.push_back(nameOf(rank) + ": " + fault);
    }
    findSlowLinks();
    for (const RankHealth& rank : report.ranks)
      blameRank(rank);
    for (const LinkHealth* link : slow)
      problems.push_back("link between " + nameOf(rankOf(link->first)) +
                         " and " + nameOf(rankOf(link->second)) + ": " +
                         shortfall(link->rate, "B/s", *referenceOf(*link)));
    return std::move(problems);
  }

private:
  const RankHealth& rankOf(int rank) const {
    return report.ranks[size_t(rank)];
  }
  bool isSlow(double rate, const Reference& reference) const {
    return rate < least * reference.rate;
  }
  /// `402.1 TFLOP/s, 0.57 of the median of 8 ranks, 705.3 TFLOP/s`
  static std::string shortfall(double rate, const std::string& unit,
                               const Reference& reference) {
    return rateText(rate, unit) + ", " +
           formatted("%.2g", rate / reference.rate) + " of " +
           reference.source + ", " + rateText(reference.rate, unit);
  }

  void compareFigure(const RankHealth& rank, const HealthFigure& figure);
  std::optional<Reference> referenceOf(const LinkHealth& link) const;
  void findSlowLinks();
  void blameRank(const RankHealth& rank);

  const HealthReport& report;
  double least; // part of a reference
  const EarlierHealth* earlier;
  std::vector<const LinkHealth*> slow; // links that no rank is blamed for
  std::vector<std::string> problems;
};

/// Names a figure once, against the earlier run where that is slow, too.
void ProblemFinder::compareFigure(const RankHealth& rank,
                                  const HealthFigure& figure) {
  std::optional<Reference> reference;
  if (const auto now = medianOfFigure(report, rank.device, figure.name))
    reference = {*now, "the median of the ranks"};
  if (earlier)
    if (const auto before =
            medianOfFigure(earlier->report, rank.device, figure.name);
        before && isSlow(figure.rate, {*before, ""}))
      reference = {*before, "the median of `" + earlier->path + "`"};
  if (reference && isSlow(figure.rate, *reference))
    problems.push_back(nameOf(rank) + ": " + figure.name + " at " +
                       shortfall(figure.rate, figure.unit, *reference));
}

std::optional<Reference>
ProblemFinder::referenceOf(const LinkHealth& link) const {
  std::optional<Reference> reference;
  if (const auto now = medianOfBestLinks(report, link.kind))
    reference = {*now, "the median of the ranks' best " + link.kind + " links"};
  if (earlier)
    if (const auto before = medianOfBestLinks(earlier->report, link.kind);
        before && isSlow(link.rate, {*before, ""}))
      reference = {*before, "the median of " + link.kind + " links of `" +
                                earlier->path + "`"};
  return reference;
}

void ProblemFinder::findSlowLinks() {
  for (const LinkHealth& link : report.links)
    if (const auto reference = referenceOf(link);
        reference && isSlow(link.rate, *reference))
      slow.push_back(&link);
}

/// Blames a rank for its slow links of a kind, if it has several and they are
/// the most of that kind.
void ProblemFinder::blameRank(const RankHealth& rank) {
  const auto isOf = [&](const LinkHealth& link) {
    return link.first == rank.rank || link.second == rank.rank;
  };
  std::set<std::string> kinds;
  for (const LinkHealth* link : slow)
    if (isOf(*link))
      kinds.insert(link->kind);
  for (const std::string& kind : kinds) {
    std::vector<const LinkHealth*> own;
    for (const LinkHealth* link : slow)
      if (isOf(*link) && link->kind == kind)
        own.push_back(link);
    const auto all = std::ranges::count_if(report.links, [&](const auto& link) {
      return isOf(link) && link.kind == kind;
    });
    if (own.size() < 2 || 2 * own.size() <= size_t(all))
      continue;
    const LinkHealth& slowest =
        **std::ranges::min_element(own, {}, &LinkHealth::rate);
    problems.push_back(nameOf(rank) + ": " + std::to_string(own.size()) +
                       " of " + std::to_string(all) + " " + kind +
                       " links slow, the slowest at " +
                       shortfall(slowest.rate, "B/s", *referenceOf(slowest)));
    std::erase_if(slow, [&](const LinkHealth* link) {
      return isOf(*link) && link->kind == kind;
    });
  }
}

} // namespace

std::vector<std::string> problemsOf(const HealthReport& report,
                                    double tolerance,
                                    const EarlierHealth* earlier) {
  return ProblemFinder(report, tolerance, earlier).find();
}

} // namespace reciperun::bench
