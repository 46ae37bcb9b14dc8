// Layouts from recipes, and settings from layouts.

#include "compiler/search/Layout.h"

namespace recipec::search {
namespace {

using Kind = recipe::Origin::Kind;

/// Whether a value is given in a recipe or on the command line.
bool isGiven(const recipe::Recipe& recipe, std::string_view path) {
  const Kind kind = recipe.at(path).origin.kind;
  return kind == Kind::written || kind == Kind::commandLine;
}

std::vector<int64_t> integersOf(const recipe::Value& value) {
  std::vector<int64_t> numbers;
  for (const recipe::Value& each : std::get<recipe::List>(value.data))
    numbers.push_back(std::get<int64_t>(each.data));
  return numbers;
}

Activations activationsOf(const recipe::Recipe& recipe) {
  Activations activations;
  activations.recompute = recipe.string("memory.recompute");
  for (const recipe::Value& each :
       std::get<recipe::List>(recipe.at("memory.recompute_modules").data))
    activations.modules.push_back(std::get<std::string>(each.data));
  if (isGiven(recipe, "memory.recompute_layers"))
    activations.layers = recipe.integer("memory.recompute_layers");
  activations.offloadLayers = recipe.integer("memory.offload_layers");
  return activations;
}

Split splitOf(const recipe::Recipe& recipe) {
  Split split;
  split.embeddingAsLayer = recipe.boolean("parallel.embedding_as_layer");
  split.lossAsLayer = recipe.boolean("parallel.loss_as_layer");
  const recipe::Value& layers = recipe.at("parallel.layers");
  if (std::holds_alternative<recipe::List>(layers.data))
    split.layers = integersOf(layers);
  return split;
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string modulesText(const std::vector<std::string>& modules) {
  std::string text;
  for (const std::string& each : modules)
    text += (text.empty() ? "" : ", ") + quoted(each);
  return "[" + text + "]";
}

/// Collects the settings that differ.
class Differences {
public:
  void add(const char* path, int64_t now, int64_t before) {
    if (now != before)
      put(path, std::to_string(now));
  }
  void add(const char* path, bool now, bool before) {
    if (now != before)
      put(path, now ? "true" : "false");
  }
  void put(const char* path, const std::string& value) {
    settings.push_back(std::string(path) + "=" + value);
  }

  Settings settings;
};

void addSplit(Differences& differences, const Split& now, const Split& before) {
  differences.add("parallel.embedding_as_layer", now.embeddingAsLayer,
                  before.embeddingAsLayer);
  differences.add("parallel.loss_as_layer", now.lossAsLayer,
                  before.lossAsLayer);
  if (now.layers != before.layers)
    differences.put("parallel.layers",
                    now.layers ? layersText(*now.layers) : "auto");
}

void addActivations(Differences& differences, const Activations& now,
                    const Activations& before) {
  if (now.recompute != before.recompute)
    differences.put("memory.recompute", quoted(now.recompute));
  if (now.modules != before.modules)
    differences.put("memory.recompute_modules", modulesText(now.modules));
  if (now.layers != before.layers)
    differences.put("memory.recompute_layers",
                    now.layers ? std::to_string(*now.layers) : "auto");
  differences.add("memory.offload_layers", now.offloadLayers,
                  before.offloadLayers);
}

} // namespace

WrittenLayout layoutOf(const recipe::Recipe& recipe) {
  WrittenLayout written;
  Layout& layout = written.layout;
  layout.tp = recipe.integer("parallel.tp");
  layout.cp = recipe.integer("parallel.cp");
  layout.pp = recipe.integer("parallel.pp");
  layout.vp = recipe.integer("parallel.vp");
  layout.ep = recipe.integer("parallel.ep");
  layout.etp = recipe.integer("parallel.etp");
  layout.micro = recipe.integer("batch.micro");
  layout.shard = recipe.string("parallel.shard");
  layout.activations = activationsOf(recipe);
  layout.split = splitOf(recipe);
  written.setsDp = isGiven(recipe, "parallel.dp");
  written.setsSchedule = isGiven(recipe, "parallel.schedule");
  return written;
}

std::string layersText(const std::vector<int64_t>& layers) {
  std::string text;
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last < layers.size() && layers[last] == layers[first])
      ++last;
    text += (first > 0 ? " + [" : "[") + std::to_string(layers[first]) + "]";
    if (last - first > 1)
      text += " * " + std::to_string(last - first);
    first = last;
  }
  return text;
}

Settings settingsFor(const Layout& layout, const WrittenLayout& written) {
  const Layout& before = written.layout;
  Differences differences;
  if (written.setsDp && layout.modelRanks() != before.modelRanks())
    differences.put("parallel.dp", "auto");
  differences.add("parallel.tp", layout.tp, before.tp);
  differences.add("parallel.cp", layout.cp, before.cp);
  differences.add("parallel.pp", layout.pp, before.pp);
  differences.add("parallel.vp", layout.vp, before.vp);
  if (written.setsSchedule && (layout.vp > 1) != (before.vp > 1))
    differences.put("parallel.schedule", "auto");
  differences.add("parallel.ep", layout.ep, before.ep);
  differences.add("parallel.etp", layout.etp, before.etp);
  if (layout.shard != before.shard)
    differences.put("parallel.shard", quoted(layout.shard));
  addSplit(differences, layout.split, before.split);
  differences.add("batch.micro", layout.micro, before.micro);
  addActivations(differences, layout.activations, before.activations);
  return differences.settings;
}

} // namespace recipec::search
