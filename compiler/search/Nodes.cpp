// 1. The samples of a node are compilations of a single stage of its layout:
//    `pp` = 1 on the ranks of a stage, with few layers and few micro-batches.
//    All samples of a call are compiled together.
// 2. A candidate is a node with `pp`, `vp` and a split of the layers. If the
//    node keeps fewer activations, the candidate does so only in as many layers
//    as needed to fit.

#include "compiler/search/Nodes.h"

#include "compiler/search/Neighbors.h"

#include <algorithm>
#include <cmath>

namespace recipec::search {
namespace {

/// The layout without its pipeline.
Layout withoutPipeline(Layout layout) {
  layout.pp = layout.vp = 1;
  layout.split = {};
  layout.activations.layers.reset();
  return layout;
}

bool keepsAll(const Activations& activations) {
  return activations.recompute == "none" && activations.offloadLayers == 0;
}

/// Sets the numbers of layers in `activations`: they apply to `count` of the
/// `most` layers of a chunk.
Activations ofLayers(Activations activations, int64_t count, int64_t most) {
  if (activations.offloadLayers > 0)
    activations.offloadLayers = count;
  if (activations.recompute != "none" && count < most)
    activations.layers = count;
  return activations;
}

/// How many layers of a chunk keep fewer activations; nullopt: all.
std::optional<int64_t> layersWithFewer(const Activations& activations) {
  if (activations.offloadLayers > 0)
    return activations.offloadLayers;
  return activations.layers;
}

std::string keyOf(const Layout& layout) {
  std::string key;
  for (int64_t each :
       {layout.tp, layout.cp, layout.ep, layout.etp, layout.micro})
    key += std::to_string(each) + " ";
  key += layout.shard + " " + layout.activations.recompute;
  for (const std::string& each : layout.activations.modules)
    key += " " + each;
  return key + (layout.activations.offloadLayers > 0 ? " offload" : "");
}

/// The outcomes of compiling sampleSettings(). If both depths are equal, the
/// outcomes of one stand for both.
Samples samplesOf(const Outcome* outcomes, const Depths& depths,
                  const LayerCosts* all) {
  const size_t each = all ? 1 : 2; // outcomes per depth
  const Outcome* deep = outcomes + (depths.areApart() ? each : 0);
  if (all)
    return withFewMicroBatches(outcomes[0], deep[0], depths, *all);
  return {outcomes[0], outcomes[1], deep[0], deep[1]};
}

} // namespace

std::optional<size_t> Nodes::find(const Layout& layout) const {
  auto found = byKey.find(keyOf(layout));
  if (found == byKey.end())
    return std::nullopt;
  return found->second;
}

/// The legal number of stages nearest to the written one, so that the samples
/// have a similar data parallelism.
std::optional<int64_t> Nodes::samplePipeline(const Layout& layout) const {
  std::optional<int64_t> best;
  auto distance = [&](int64_t pp) {
    return std::abs(std::log(double(pp) / double(written.layout.pp)));
  };
  for (int64_t pp : divisorsOf(facts.ranks)) {
    Layout tried = layout;
    tried.pp = pp;
    const int64_t ranks = facts.ranks / pp;
    const bool fillsNodes =
        ranks <= facts.ranksPerNode || ranks % facts.ranksPerNode == 0;
    if (fillsNodes && isLegal(facts, tried) &&
        (!best || distance(pp) < distance(*best)))
      best = pp;
  }
  return best;
}

std::vector<Settings> Nodes::sampleSettings(const Layout& layout, int64_t pp,
                                            bool onlyMany) const {
  const int64_t ranks = facts.ranks / pp;
  const int64_t dp = ranks / (layout.cp * layout.tp);
  std::vector<int64_t> depths = {facts.depths.deep};
  if (facts.depths.areApart())
    depths.insert(depths.begin(), facts.depths.shallow);
  std::vector<Settings> samples;
  for (int64_t depth : depths)
    for (int64_t microBatches : {fewMicroBatches, manyMicroBatches}) {
      if (onlyMany && microBatches == fewMicroBatches)
        continue;
      Layout sampled = layout;
      sampled.activations = ofLayers(layout.activations, depth, depth);
      Settings settings = settingsFor(sampled, written);
      if (written.setsDp)
        settings.emplace_back("parallel.dp=auto");
      settings.push_back("cluster.ranks=" + std::to_string(ranks));
      settings.push_back("batch.global=" +
                         std::to_string(layout.micro * dp * microBatches));
      if (facts.depths.areApart())
        settings.push_back("model.layers=" + std::to_string(depth));
      samples.push_back(std::move(settings));
    }
  return samples;
}

void Nodes::add(const std::vector<Layout>& layouts) {
  std::vector<Layout> all = layouts;
  for (Layout& each : all)
    each.activations = {};
  addLayouts(all);
  addLayouts(layouts);
}

/// Adds nodes for the layouts. A layout that keeps fewer activations needs only
/// half of the samples if the costs with all activations are known.
void Nodes::addLayouts(const std::vector<Layout>& layouts) {
  std::vector<Settings> trials;
  std::vector<Sampling> samplings;
  for (const Layout& each : layouts) {
    const Layout layout = withoutPipeline(each);
    if (!isWithinLimits(facts, written.layout, layout) || find(layout))
      continue;
    const std::optional<LayerCosts> all = keepsAll(layout.activations)
                                              ? std::nullopt
                                              : costsWithAllActivations(layout);
    byKey[keyOf(layout)] = nodes.size();
    nodes.push_back({layout, std::nullopt});
    const std::optional<int64_t> pp = samplePipeline(layout);
    if (!pp)
      continue;
    samplings.push_back({nodes.size() - 1, trials.size(),
                         facts.ranks / (*pp * layout.cp * layout.tp), all});
    for (Settings& settings : sampleSettings(layout, *pp, all.has_value()))
      trials.push_back(std::move(settings));
  }
  const std::vector<Outcome> outcomes = compile(trials);
  for (const Sampling& each : samplings) {
    const Samples samples = samplesOf(&outcomes[each.firstTrial], facts.depths,
                                      each.all ? &*each.all : nullptr);
    nodes[each.node].costs =
        layerCosts(samples, facts.depths, nodes[each.node].layout, each.dp);
  }
  sampleCount += trials.size();
  for (const Outcome& each : outcomes)
    sampledEffort += each.effort();
}

/// The costs of the layout when it keeps all activations, if they are known.
std::optional<LayerCosts> Nodes::costsWithAllActivations(Layout layout) const {
  layout.activations = {};
  const std::optional<size_t> found = find(layout);
  return found ? nodes[*found].costs : std::nullopt;
}

std::vector<Activations>
Nodes::usefulActivations(const Layout& layout,
                         const std::vector<Activations>& choices) const {
  struct Choice {
    Activations activations;
    double saved = 0;   // bytes per layer
    double seconds = 0; // per saved byte
  };
  const std::optional<LayerCosts> all =
      costsWithAllActivations(withoutPipeline(layout));
  std::vector<Choice> list;
  for (const Activations& each : choices) {
    Layout fewer = withoutPipeline(layout);
    fewer.activations = each;
    const std::optional<size_t> node = find(fewer);
    if (!all || keepsAll(each) || !node || !nodes[*node].costs)
      continue;
    const LayerCosts& costs = *nodes[*node].costs;
    const double saved = all->activations.layer - costs.activations.layer;
    if (saved > 0)
      list.push_back(
          {each, saved, (costs.pass.layer - all->pass.layer) / saved});
  }
  std::vector<Activations> useful = {{}};
  for (size_t i = 0; i < list.size(); ++i) {
    auto replaces = [&](size_t other) {
      const Choice &one = list[i], &better = list[other];
      if (better.saved == one.saved && better.seconds == one.seconds)
        return other < i;
      return better.saved >= one.saved && better.seconds <= one.seconds;
    };
    bool isUseful = true;
    for (size_t other = 0; other < list.size(); ++other)
      isUseful &= !replaces(other);
    if (isUseful)
      useful.push_back(list[i].activations);
  }
  return useful;
}

/// Appends the candidate that fits with the fewest layers that keep fewer
/// activations. If none fits, appends the one in which all layers do so.
void Nodes::appendFitting(std::vector<Candidate>& list, Candidate candidate,
                          const Corrections& corrections) const {
  const Node& node = nodes[candidate.node];
  const std::vector<int64_t> chunks = chunkLayers(facts, candidate.layout);
  const int64_t most = *std::max_element(chunks.begin(), chunks.end());
  const bool isAll = keepsAll(node.layout.activations);
  const std::optional<LayerCosts> all =
      isAll ? std::nullopt : costsWithAllActivations(node.layout);
  if (all &&
      corrections
              .apply(candidate.layout, predict(*all, facts, candidate.layout))
              .bytes <= all->capacity)
    return; // it fits with all activations
  for (int64_t count = all ? 1 : most; count <= most; ++count) {
    const LayerCosts costs =
        all ? mixed(*all, *node.costs, double(count) / double(most))
            : *node.costs;
    candidate.layout.activations =
        ofLayers(node.layout.activations, count, most);
    candidate.prediction = predict(costs, facts, candidate.layout);
    candidate.corrected =
        corrections.apply(candidate.layout, candidate.prediction);
    candidate.capacity = costs.capacity;
    if (candidate.fits())
      break;
  }
  list.push_back(std::move(candidate));
}

/// Whether `pp` stages can be interleaved with chunks of equal size, without a
/// list of layers. Chunks of different sizes make interleaved stages wait for
/// one another.
bool Nodes::interleavesEvenly(int64_t pp) const {
  for (int64_t vp = 2; pp * vp <= facts.layers; ++vp)
    for (const Split& split : splitsOf(facts.layers, pp * vp))
      if (!split.layers)
        return true;
  return false;
}

std::vector<Candidate> Nodes::candidates(size_t index,
                                         const Corrections& corrections) const {
  const Node& node = nodes[index];
  std::vector<Candidate> list;
  if (!node.costs)
    return list;
  const int64_t deepest = std::max<int64_t>(1, facts.layers);
  for (int64_t pp : divisorsOf(facts.ranks)) {
    for (int64_t vp = 1; pp * vp <= deepest; ++vp) {
      Candidate candidate{.layout = node.layout, .node = index};
      candidate.layout.pp = pp;
      candidate.layout.vp = vp;
      if (!isLegal(facts, candidate.layout))
        continue;
      for (Split& split : splitsOf(facts.layers, pp * vp)) {
        candidate.layout.split = std::move(split);
        if (vp == 1 || !candidate.layout.split.layers || !interleavesEvenly(pp))
          appendFitting(list, candidate, corrections);
      }
    }
  }
  return list;
}

std::optional<Candidate> Nodes::candidate(const Layout& layout) const {
  const std::optional<size_t> found = find(withoutPipeline(layout));
  if (!found || !nodes[*found].costs)
    return std::nullopt;
  LayerCosts costs = *nodes[*found].costs;
  const std::vector<int64_t> chunks = chunkLayers(facts, layout);
  const int64_t most = *std::max_element(chunks.begin(), chunks.end());
  const int64_t count = layersWithFewer(layout.activations).value_or(most);
  if (const auto all = costsWithAllActivations(layout); all && count < most)
    costs = mixed(*all, costs, double(count) / double(most));
  Candidate candidate{.layout = layout, .node = *found};
  candidate.prediction = candidate.corrected = predict(costs, facts, layout);
  candidate.capacity = costs.capacity;
  return candidate;
}

} // namespace recipec::search
