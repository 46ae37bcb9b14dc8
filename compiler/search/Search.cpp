// 1. Start from the written layout and from the simplest one. Each is a node of
//    a graph, whose neighbors differ in one degree, in the micro-batch size, in
//    what is sharded or in the kept activations.
// 2. Visit nodes in the order of their best prediction, over all pipelines. A
//    node's prediction comes from compilations of few layers (Nodes.h). Keeping
//    fewer activations never makes a layout faster, so such neighbors are
//    visited only if a faster pipeline of the node does not fit. Stop at the
//    budget, or when all remaining nodes are predicted far behind the best.
// 3. Compile the layouts with the best predictions in full, batch by batch. The
//    results correct the predictions of similar layouts. Stop at the budget,
//    when no other layout is predicted to be faster, or when nothing fits in
//    the batches that take the least memory.

#include "compiler/search/Search.h"

#include "compiler/search/Neighbors.h"
#include "compiler/search/Nodes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace recipec::search {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

class LayoutSearch {
public:
  LayoutSearch(const recipe::Recipe& recipe, const Compile& compile,
               const std::function<void(const Progress&)>& report)
      : facts(factsOf(recipe)), written(layoutOf(recipe)), compile(compile),
        nodes(facts, written, compile), report(report) {}

  Result run(const Outcome& outcome);

private:
  /// The predictions of a node that determine which node is visited next.
  struct Standing {
    double fitting = never; // seconds of the best layout that fits
    double any = never;     // seconds of the best layout
    double bytes = never;   // of the layout that takes the least
  };

  void visitNodes();
  bool expandNext();
  const std::vector<Activations>& fewerActivations(Layout layout);
  Standing standingOf(size_t node) const;
  void compileBest();
  std::vector<Candidate> nextBatch();
  void compileBatch(const std::vector<Candidate>& batch);
  void keep(Layout layout, const Outcome& outcome);
  void reportProgress(double done) const;
  double bestSeconds() const;
  size_t changesOf(const Layout& layout) const {
    return settingsFor(layout, written).size();
  }
  Result result();

  const Facts facts;
  const WrittenLayout written;
  const Compile& compile;
  Nodes nodes;
  const std::function<void(const Progress&)>& report;
  Corrections corrections;
  std::vector<Standing> standings;
  std::optional<std::vector<Activations>> useful;
  std::vector<Trial> trials;
  std::set<Settings> tried;
  size_t predicted = 0;
};

// The budgets of compilations, in units of Outcome::effort. A million takes 2
// to 8 s of one core.
constexpr double mostSampling = 0.8e6;
constexpr double mostCompiling = 0.8e6;
constexpr size_t mostNodes = 400;

double LayoutSearch::bestSeconds() const {
  double best = never;
  for (const Trial& each : trials)
    if (each.outcome.fits())
      best = std::min(best, each.outcome.stepSeconds);
  return best;
}

void LayoutSearch::reportProgress(double done) const {
  const double best = bestSeconds();
  report({std::min(1.0, done), nodes.samples() + trials.size(),
          best == never ? 0 : best});
}

// ---- nodes

LayoutSearch::Standing LayoutSearch::standingOf(size_t node) const {
  Standing standing;
  for (const Candidate& each : nodes.candidates(node, corrections)) {
    const double seconds = each.corrected.seconds;
    standing.any = std::min(standing.any, seconds);
    standing.bytes = std::min(standing.bytes, each.corrected.bytes);
    if (each.fits())
      standing.fitting = std::min(standing.fitting, seconds);
  }
  return standing;
}

/// The useful choices for the layout's activations. The first call compiles all
/// choices, and later calls return the same ones: the time per saved byte
/// depends little on the other settings.
const std::vector<Activations>& LayoutSearch::fewerActivations(Layout layout) {
  if (useful)
    return *useful;
  const std::vector<Activations> choices = activationChoices(facts);
  std::vector<Layout> all;
  for (const Activations& each : choices) {
    all.push_back(layout);
    all.back().activations = each;
  }
  nodes.add(all);
  useful = nodes.usefulActivations(layout, choices);
  return *useful;
}

/// Expands the best nodes that are not expanded yet. Returns false if no node
/// is worth it.
bool LayoutSearch::expandNext() {
  constexpr size_t atOnce = 4;
  constexpr double farBehind = 1.2;
  for (size_t node = standings.size(); node < nodes.size(); ++node)
    standings.push_back(standingOf(node));
  std::vector<size_t> open;
  double best = never;
  for (size_t node = 0; node < nodes.size(); ++node) {
    best = std::min(best, standings[node].fitting);
    if (!nodes[node].isExpanded && nodes[node].costs)
      open.push_back(node);
  }
  std::stable_sort(open.begin(), open.end(), [&](size_t left, size_t right) {
    const Standing &one = standings[left], &other = standings[right];
    return one.fitting != other.fitting ? one.fitting < other.fitting
                                        : one.bytes < other.bytes;
  });
  std::vector<Layout> next;
  size_t expanded = 0;
  for (size_t node : open) {
    const Standing& standing = standings[node];
    if (expanded == atOnce)
      break;
    if (best < never && standing.any > farBehind * best)
      continue;
    const bool isFull = standing.any < standing.fitting;
    const Layout layout = nodes[node].layout;
    for (Layout& each : neighborsOf(facts, layout,
                                    isFull ? fewerActivations(layout)
                                           : std::vector<Activations>{}))
      next.push_back(std::move(each));
    nodes[node].isExpanded = true;
    ++expanded;
  }
  const double left = mostSampling - nodes.effort();
  const double most = left / nodes.effortOfLayout();
  if (double(next.size()) > most)
    next.resize(size_t(std::max(1.0, most)));
  nodes.add(next);
  return expanded > 0;
}

void LayoutSearch::visitNodes() {
  Layout simplest = written.layout;
  simplest.tp = simplest.cp = simplest.etp = simplest.micro = 1;
  simplest.activations = {};
  nodes.add({written.layout, simplest});
  while (nodes.effort() < mostSampling && nodes.size() < mostNodes &&
         expandNext())
    reportProgress(nodes.effort() / (mostSampling + mostCompiling));
}

// ---- full compilations

std::vector<Candidate> LayoutSearch::nextBatch() {
  constexpr size_t atOnce = 8;
  constexpr size_t mostOfNode = 2;
  // Layouts that are predicted slower than the best one by more than this
  // factor are not compiled.
  constexpr double errorOfModel = 1.01;
  std::vector<Candidate> list;
  for (size_t node = 0; node < nodes.size(); ++node)
    for (Candidate& each : nodes.candidates(node, corrections))
      list.push_back(std::move(each));
  predicted = std::max(predicted, list.size());
  const bool fitsAny = std::any_of(
      list.begin(), list.end(), [](const auto& each) { return each.fits(); });
  std::stable_sort(list.begin(), list.end(),
                   [&](const Candidate& left, const Candidate& right) {
                     if (left.fits() != right.fits())
                       return left.fits();
                     const Prediction &one = left.corrected,
                                      &other = right.corrected;
                     if (!fitsAny)
                       return one.bytes < other.bytes;
                     if (one.seconds != other.seconds)
                       return one.seconds < other.seconds;
                     return changesOf(left.layout) < changesOf(right.layout);
                   });
  std::vector<Candidate> batch;
  std::map<size_t, size_t> ofNode;
  const double best = bestSeconds();
  for (Candidate& each : list) {
    if (batch.size() == atOnce || (fitsAny && !each.fits()) ||
        each.corrected.seconds > errorOfModel * best)
      break;
    if (ofNode[each.node] == mostOfNode ||
        tried.contains(settingsFor(each.layout, written)))
      continue;
    ++ofNode[each.node];
    batch.push_back(std::move(each));
  }
  return batch;
}

void LayoutSearch::keep(Layout layout, const Outcome& outcome) {
  Settings settings = settingsFor(layout, written);
  tried.insert(settings);
  trials.push_back({std::move(layout), std::move(settings), outcome});
}

void LayoutSearch::compileBatch(const std::vector<Candidate>& batch) {
  std::vector<Settings> settings;
  for (const Candidate& each : batch)
    settings.push_back(settingsFor(each.layout, written));
  const std::vector<Outcome> outcomes = compile(settings);
  for (size_t i = 0; i < batch.size(); ++i) {
    corrections.learn(batch[i].layout, batch[i].prediction, outcomes[i]);
    keep(batch[i].layout, outcomes[i]);
  }
}

void LayoutSearch::compileBest() {
  constexpr int mostUnfit = 2;
  double effort = 0;
  for (int unfit = 0; effort < mostCompiling && unfit < mostUnfit;) {
    const std::vector<Candidate> batch = nextBatch();
    if (batch.empty())
      return;
    compileBatch(batch);
    unfit += bestSeconds() == never;
    for (size_t i = trials.size() - batch.size(); i < trials.size(); ++i)
      effort += trials[i].outcome.effort();
    reportProgress((nodes.effort() + effort) / (mostSampling + mostCompiling));
  }
}

// ---- result

Result LayoutSearch::result() {
  Result result;
  result.predicted = predicted;
  result.samples = nodes.samples();
  result.compiled = trials.size();
  std::stable_sort(
      trials.begin(), trials.end(), [](const Trial& left, const Trial& right) {
        const double one = left.outcome.stepSeconds,
                     other = right.outcome.stepSeconds;
        return one != other ? one < other
                            : left.settings.size() < right.settings.size();
      });
  for (const Trial& each : trials) {
    if (each.outcome.fits())
      result.best.push_back(each);
    if (each.outcome.isValid &&
        (!result.nearest ||
         each.outcome.memory.total < result.nearest->outcome.memory.total))
      result.nearest = each;
  }
  if (!result.best.empty())
    result.nearest.reset();
  return result;
}

Result LayoutSearch::run(const Outcome& outcome) {
  keep(written.layout, outcome);
  visitNodes();
  if (std::optional<Candidate> start = nodes.candidate(written.layout))
    corrections.learn(written.layout, start->prediction, outcome);
  compileBest();
  reportProgress(1);
  return result();
}

} // namespace

Result search(const recipe::Recipe& recipe, const Outcome& written,
              const Compile& compile,
              const std::function<void(const Progress&)>& report) {
  return LayoutSearch(recipe, compile, report).run(written);
}

} // namespace recipec::search
