// 1. Sizes and degrees come from the recipe's settings.
// 2. Layers are compared by the ops that they call. Find the smallest period
//    with which the last layers repeat. The shallow depth has the layers before
//    this pattern and four more; the deep one has one more period.

#include "compiler/search/Facts.h"

#include "compiler/recipe/Format.h"

#include <algorithm>
#include <map>

namespace recipec::search {
namespace {

/// A size from the recipe; `absent` if the recipe has no such setting.
int64_t sizeOf(const recipe::Recipe& recipe, std::string_view path,
               int64_t absent) {
  return recipe.find(path) ? recipe.count(path) : absent;
}

/// A text for each layer, which is equal for layers that call the same ops.
std::vector<std::string> layerTexts(const recipe::Recipe& recipe) {
  std::map<int, std::string> texts;
  for (const recipe::Call& call : recipe.model.calls) {
    if (call.layer < 0)
      continue;
    std::string& text = texts[call.layer];
    text += call.op;
    for (const recipe::Attribute& each : call.attributes)
      text += " " + recipe::formatValue(each.value, recipe.model.dims);
    text += "\n";
  }
  std::vector<std::string> list;
  for (auto& [layer, text] : texts)
    list.push_back(std::move(text));
  return list;
}

/// The first layer of the pattern that repeats every `period` layers.
size_t patternBegin(const std::vector<std::string>& texts, size_t period) {
  size_t begin = texts.size() - std::min(texts.size(), period);
  while (begin > 0 && texts[begin - 1] == texts[begin - 1 + period])
    --begin;
  return begin;
}

Depths depthsOf(const recipe::Recipe& recipe, int64_t layers) {
  const std::vector<std::string> texts = layerTexts(recipe);
  constexpr size_t longestPeriod = 8;
  // With few layers, the peak of memory can be at another op than with many.
  constexpr size_t layersBefore = 4;
  for (size_t period = 1; period <= longestPeriod; ++period) {
    const size_t begin = patternBegin(texts, period);
    const size_t shallow = begin + layersBefore;
    const size_t deep = shallow + period;
    if (int64_t(texts.size()) == layers && begin + 2 * period <= texts.size() &&
        2 * deep <= texts.size())
      return {int64_t(shallow), int64_t(deep)};
  }
  return {layers, layers};
}

bool divides(int64_t part, int64_t whole) {
  return whole % part == 0;
}

bool areNested(int64_t one, int64_t other) {
  return divides(one, other) || divides(other, one);
}

/// Whether the groups of experts consist of whole groups of the other axes, or
/// the reverse.
bool areExpertsLegal(const Facts& facts, const Layout& layout) {
  if (facts.experts == 0)
    return layout.ep == 1 && layout.etp == 1;
  const int64_t stage = facts.ranks / layout.pp;
  if (!divides(layout.ep, facts.experts) ||
      !divides(layout.etp, facts.expertFfn) ||
      !divides(layout.ep * layout.etp, stage))
    return false;
  for (int64_t expertSpan : {layout.etp, layout.etp * layout.ep})
    for (int64_t span : {layout.tp, layout.tp * facts.headsGroup,
                         layout.tp * layout.cp, stage / facts.shardInstances})
      if (!areNested(expertSpan, span))
        return false;
  return true;
}

} // namespace

Facts factsOf(const recipe::Recipe& recipe) {
  Facts facts;
  facts.ranks = recipe.integer("cluster.ranks");
  facts.ranksPerNode = recipe.integer("cluster.ranks_per_node");
  facts.linkRanks = recipe.integer("cluster.hardware.link_ranks");
  facts.globalBatch = recipe.integer("batch.global");
  facts.sequence = recipe.integer("data.sequence");
  facts.layers = sizeOf(recipe, "model.layers", 0);
  facts.experts = sizeOf(recipe, "model.experts", 0);
  facts.expertFfn = sizeOf(recipe, "model.expert_ffn", 1);
  facts.shardInstances = recipe.integer("parallel.shard_instances");
  facts.headsGroup = recipe.integer("parallel.cp_a2a");
  facts.hasLatentAttention = recipe.find("model.kv_rank") != nullptr;
  facts.depths = depthsOf(recipe, facts.layers);
  return facts;
}

bool isLegal(const Facts& facts, const Layout& layout) {
  if (!divides(layout.modelRanks(), facts.ranks))
    return false;
  const int64_t dp = layout.dp(facts.ranks);
  if (!divides(layout.micro * dp, facts.globalBatch) ||
      !divides(facts.shardInstances, dp))
    return false;
  if (layout.cp > 1 && !divides(2 * layout.cp * layout.tp, facts.sequence))
    return false;
  if (layout.vp > 1 &&
      (layout.pp == 1 || !divides(layout.pp, facts.accumulation(layout))))
    return false;
  if (layout.pp * layout.vp > std::max<int64_t>(1, facts.layers))
    return false;
  return areExpertsLegal(facts, layout);
}

std::vector<Split> splitsOf(int64_t layers, int64_t chunks) {
  std::vector<Split> splits;
  if (chunks == 1 || divides(chunks, layers))
    splits.push_back({});
  if (chunks == 1)
    return splits;
  if (divides(chunks, layers + 1) && (layers + 1) / chunks > 1)
    splits.push_back({.lossAsLayer = true});
  if (chunks > 2 && divides(chunks, layers + 2) && (layers + 2) / chunks > 1)
    splits.push_back({.embeddingAsLayer = true, .lossAsLayer = true});
  if (!splits.empty())
    return splits;
  const int64_t most = (layers + chunks) / chunks;
  const int64_t missing = most * chunks - layers;
  std::vector<int64_t> list(size_t(chunks), most);
  for (int64_t chunk = chunks - missing; chunk < chunks; ++chunk)
    --list[size_t(chunk)];
  splits.push_back({.layers = list});
  if (missing > 1 && missing <= most) {
    std::fill(list.begin(), list.end(), most);
    list.back() -= missing;
    splits.push_back({.layers = std::move(list)});
  }
  return splits;
}

std::vector<int64_t> chunkLayers(const Facts& facts, const Layout& layout) {
  if (layout.split.layers)
    return *layout.split.layers;
  const int64_t chunks = layout.pp * layout.vp;
  const int64_t first = layout.split.embeddingAsLayer ? 1 : 0;
  const int64_t last = layout.split.lossAsLayer ? 1 : 0;
  std::vector<int64_t> layers(size_t(chunks),
                              (facts.layers + first + last) / chunks);
  layers.front() -= first;
  layers.back() -= last;
  return layers;
}

} // namespace recipec::search
