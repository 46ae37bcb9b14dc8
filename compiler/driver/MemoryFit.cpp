// 1. Compare the predicted total with the device's memory.
// 2. Report the largest categories and buffers at the user's value that they
//    depend on most. If activations are largest, that is `batch.micro`, or
//    `data.sequence` if `batch.micro` is 1; otherwise it is the hardware.
// 3. Try changes in order of increasing cost: recomputation, fewer expert rows,
//    more sharding, smaller micro-batches, wider layouts, more ranks, and
//    shorter sequences last. A change is compiled if the forecast lets it fit,
//    so a proposed change is known to fit and to satisfy every rule of the
//    recipe. The budget of compilations counts ops instead of time, so the
//    result is the same on every machine.

#include "compiler/driver/MemoryFit.h"

#include "compiler/driver/MemoryForecast.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ServingFit.h"
#include "compiler/driver/Trial.h"
#include "compiler/recipe/Task.h"

#include <algorithm>
#include <functional>
#include <set>

namespace recipec::driver {
namespace {

using Settings = std::vector<std::string>;

/// Settings, and the expected change in memory.
struct Candidate {
  Settings settings;
  MemoryChange change;
};
/// Candidates of one kind, the mildest first; at most one is proposed.
using Candidates = std::vector<Candidate>;

class FitSearch {
public:
  FitSearch(Session& session, const Compilation& compilation)
      : session(session), recipe(compilation.recipe), forecast(compilation),
        capacity(compilation.estimate.memory.capacity) {}

  /// Reports the changes that fit, or says that no tried change does.
  void help(diag::Builder& builder);

private:
  bool mayCompile() const;
  /// The total of the recipe with these settings; nullopt if the recipe is then
  /// invalid or does not fit.
  std::optional<int64_t> fittingTotal(const Settings& settings);
  /// Proposes the first candidate that fits.
  bool propose(const Candidates& candidates, diag::Builder& builder);

  Candidates recomputing() const;
  Candidates fewerExpertRows() const;
  Candidates smallerParts() const;
  Candidates smallerMicroBatches() const;
  Candidates widerLayouts() const;
  Candidates moreRanks() const;
  Candidates shorterSequences() const;
  Candidates widestLayouts(const MemoryChange& before) const;
  Candidates shardedLayouts(const MemoryChange& before) const;
  Candidates severalAtOnce() const;

  int64_t alike() const;
  Settings fullRecompute() const;

  Session& session;
  const recipe::Recipe& recipe;
  MemoryForecast forecast;
  int64_t capacity;
  /// The remaining ops that may be compiled. The first trial is free.
  size_t budget = 5'000;
  bool hasCompiled = false;
};

std::string setting(const char* path, int64_t value) {
  return std::string(path) + "=" + std::to_string(value);
}

bool FitSearch::mayCompile() const {
  return !hasCompiled || recipe.model.calls.size() <= budget;
}

std::optional<int64_t> FitSearch::fittingTotal(const Settings& settings) {
  budget -= std::min(budget, recipe.model.calls.size());
  hasCompiled = true;
  std::optional<Compilation> tried = compileTrial(session, settings);
  if (!tried || !tried->estimate.memory.fits())
    return std::nullopt;
  return tried->estimate.memory.total;
}

/// Formats settings: `` `a` with `b`, `c` and `d` ``.
std::string joined(const Settings& settings) {
  std::string text;
  for (size_t i = 0; i < settings.size(); ++i)
    text += (i == 0                     ? "`"
             : i == 1                   ? " with `"
             : i + 1 == settings.size() ? " and `"
                                        : ", `") +
            settings[i] + "`";
  return text;
}

bool FitSearch::propose(const Candidates& candidates, diag::Builder& builder) {
  for (const Candidate& candidate : candidates) {
    if (forecast.total(candidate.change) > capacity)
      continue;
    if (!mayCompile())
      return false;
    std::optional<int64_t> total = fittingTotal(candidate.settings);
    if (!total)
      continue;
    builder.help(joined(candidate.settings) + " takes " + formatBytes(*total) +
                 " and fits");
    return true;
  }
  return false;
}

// ---- candidate changes

Settings FitSearch::fullRecompute() const {
  Settings settings = {"memory.recompute=\"full\""};
  // A list of modules is valid only with "selective".
  using Kind = recipe::Origin::Kind;
  const Kind kind = recipe.at("memory.recompute_modules").origin.kind;
  if (kind == Kind::written || kind == Kind::commandLine)
    settings.push_back("memory.recompute_modules=[]");
  return settings;
}

Candidates FitSearch::recomputing() const {
  const std::string& now = recipe.string("memory.recompute");
  Candidates candidates;
  if (now == "none")
    candidates.push_back({{"memory.recompute=\"selective\""},
                          {.activations = forecast.selectiveRecompute()}});
  if (now != "full")
    candidates.push_back(
        {fullRecompute(), {.activations = forecast.fullRecompute()}});
  return candidates;
}

/// Larger limits come first, because rows beyond the limit are dropped or
/// delayed.
Candidates FitSearch::fewerExpertRows() const {
  double most = forecast.mostExpertRows();
  if (!recipe.at("memory.expert_rows").isNone())
    most = std::min(most, recipe.real("memory.expert_rows"));
  Candidates candidates;
  for (const char* rows : {"8", "4", "2", "1.5"})
    if (double value = std::stod(rows); value < most)
      candidates.push_back({{"memory.expert_rows=" + std::string(rows)},
                            {.activations = forecast.expertRows(value)}});
  return candidates;
}

/// The number of ranks that hold the same parameters.
int64_t FitSearch::alike() const {
  return recipe.integer("parallel.dp") * recipe.integer("parallel.cp");
}

/// Shards the state that the ranks of dp and cp replicate.
Candidates FitSearch::smallerParts() const {
  const std::string& shard = recipe.string("parallel.shard");
  if (alike() == 1 || shard == "parameters")
    return {};
  double part = 1 / double(alike());
  MemoryChange change;
  if (shard == "none")
    change.optimizer = part;
  Candidates candidates;
  if (shard == "none")
    candidates.push_back({{"parallel.shard=\"optimizer\""}, change});
  if (shard != "gradients")
    change.gradients = part;
  if (shard != "gradients")
    candidates.push_back({{"parallel.shard=\"gradients\""}, change});
  change.parameters = part;
  candidates.push_back({{"parallel.shard=\"parameters\""}, change});
  return candidates;
}

Candidates FitSearch::smallerMicroBatches() const {
  const int64_t micro = recipe.integer("batch.micro");
  std::set<int64_t, std::greater<>> divisors;
  for (int64_t small = 1; small <= micro / small; ++small)
    if (micro % small == 0)
      divisors.insert({small, micro / small});
  divisors.erase(micro);
  Candidates candidates;
  for (int64_t divisor : divisors)
    candidates.push_back({{setting("batch.micro", divisor)},
                          {.activations = double(divisor) / double(micro)}});
  return candidates;
}

/// Uses replicas for tensor or pipeline parallelism instead.
Candidates FitSearch::widerLayouts() const {
  Candidates candidates;
  int64_t tp = recipe.integer("parallel.tp");
  int64_t pp = recipe.integer("parallel.pp");
  int64_t mostTp = std::min(recipe.integer("cluster.ranks"),
                            recipe.integer("cluster.ranks_per_node"));
  for (int64_t factor = 2; factor <= recipe.integer("parallel.dp");
       factor *= 2) {
    double part = 1 / double(factor);
    if (tp * factor <= mostTp)
      candidates.push_back(
          {{setting("parallel.tp", tp * factor)},
           {.parameters = part, .gradients = part, .activations = part}});
    candidates.push_back({{setting("parallel.pp", pp * factor)},
                          {.parameters = part, .gradients = part}});
  }
  return candidates;
}

constexpr int64_t mostRanks = 1024;
/// The `memory.expert_rows` in combinations of changes: twice the even share.
constexpr int fewRows = 2;

Candidates FitSearch::moreRanks() const {
  const std::string& shard = recipe.string("parallel.shard");
  const int64_t now = recipe.integer("cluster.ranks");
  Candidates candidates;
  for (int64_t ranks = now * 2; ranks <= mostRanks; ranks *= 2) {
    double part = double(now) / double(ranks);
    MemoryChange change{.optimizer = shard == "none" ? 1 : part};
    if (shard == "gradients" || shard == "parameters")
      change.gradients = part;
    if (shard == "parameters")
      change.parameters = part;
    candidates.push_back({{setting("cluster.ranks", ranks)}, change});
  }
  return candidates;
}

Candidates FitSearch::shorterSequences() const {
  const int64_t now = recipe.integer("data.sequence");
  Candidates candidates;
  for (int64_t length = now / 2; length >= now / 8; length /= 2)
    candidates.push_back({{setting("data.sequence", length)},
                          {.activations = double(length) / double(now)}});
  return candidates;
}

/// `tp` over all ranks of a node, with increasing numbers of ranks.
Candidates FitSearch::widestLayouts(const MemoryChange& before) const {
  const int64_t now = recipe.integer("cluster.ranks");
  const int64_t node = recipe.integer("cluster.ranks_per_node");
  const double wider = double(recipe.integer("parallel.tp")) / double(node);
  Candidates candidates;
  for (int64_t ranks = std::max(node, now); ranks <= std::max(now, mostRanks);
       ranks *= 2) {
    MemoryChange change = before;
    change.parameters *= wider;
    change.gradients *= wider;
    change.activations *= wider;
    change.optimizer *= double(now) / double(ranks);
    Settings settings;
    if (ranks != now)
      settings.push_back(setting("cluster.ranks", ranks));
    settings.push_back(setting("parallel.tp", node));
    candidates.push_back({settings, change});
  }
  return candidates;
}

/// The widest layouts with several replicas that shard parameters, gradients
/// and the optimizer. Their forecast replaces the factors of `before` for these
/// three, because the sharding is computed anew.
Candidates FitSearch::shardedLayouts(const MemoryChange& before) const {
  const int64_t node = recipe.integer("cluster.ranks_per_node");
  const int64_t shards = node * recipe.integer("parallel.pp");
  const int64_t least = 2 * shards * recipe.integer("parallel.cp");
  const std::string& shard = recipe.string("parallel.shard");
  const double now =
      double(recipe.integer("parallel.tp") * recipe.integer("parallel.pp"));
  const double shared = now * double(alike());
  Candidates candidates;
  for (int64_t ranks = least; ranks <= mostRanks; ranks *= 2) {
    MemoryChange change = before;
    change.activations *= now / double(shards);
    change.parameters = (shard == "parameters" ? shared : now) / double(ranks);
    change.gradients =
        (shard == "parameters" || shard == "gradients" ? shared : now) /
        double(ranks);
    change.optimizer = (shard == "none" ? now : shared) / double(ranks);
    Settings settings;
    if (ranks != recipe.integer("cluster.ranks"))
      settings.push_back(setting("cluster.ranks", ranks));
    settings.push_back(setting("parallel.tp", node));
    if (shard != "parameters")
      settings.emplace_back("parallel.shard=\"parameters\"");
    candidates.push_back({settings, change});
  }
  return candidates;
}

/// The number of ranks that a candidate sets; 0 if it does not change it.
int64_t ranksOf(const Candidate& candidate) {
  constexpr std::string_view start = "cluster.ranks=";
  for (const std::string& each : candidate.settings)
    if (each.starts_with(start))
      return std::stoll(each.substr(start.size()));
  return 0;
}

bool hasFewerRanks(const Candidate& left, const Candidate& right) {
  return ranksOf(left) < ranksOf(right);
}

/// Combinations of changes, for recipes where one change is not enough. First
/// recomputation with wider layouts. Then the changes accumulate one by one.
/// Finally the widest layouts, first without and then with all other changes.
Candidates FitSearch::severalAtOnce() const {
  MemoryChange change;
  Settings settings;
  Candidates candidates;
  auto add = [&](std::string text) {
    settings.push_back(std::move(text));
    candidates.push_back({settings, change});
  };
  if (recipe.string("memory.recompute") != "full") {
    settings = fullRecompute();
    change.activations = forecast.fullRecompute();
    for (Candidate layout : widerLayouts()) {
      layout.settings.insert(layout.settings.begin(), settings.begin(),
                             settings.end());
      layout.change.activations *= change.activations;
      candidates.push_back(std::move(layout));
    }
  }
  if (forecast.expertRows(fewRows) < 1 &&
      recipe.at("memory.expert_rows").isNone()) {
    change.activations *= forecast.expertRows(fewRows);
    add("memory.expert_rows=" + std::to_string(fewRows));
  }
  if (recipe.integer("batch.micro") > 1) {
    change.activations /= double(recipe.integer("batch.micro"));
    add("batch.micro=1");
  }
  if (alike() > 1 && recipe.string("parallel.shard") != "parameters") {
    change.parameters = change.gradients = 1 / double(alike());
    add("parallel.shard=\"parameters\"");
  }
  // Layouts with few ranks come first. Do not combine them with other sharding.
  Candidates alone = widestLayouts({});
  if (settings == Settings{"parallel.shard=\"parameters\""} ||
      settings.empty()) {
    const Candidates sharded = shardedLayouts({});
    alone.insert(alone.end(), sharded.begin(), sharded.end());
    std::stable_sort(alone.begin(), alone.end(), hasFewerRanks);
  }
  candidates.insert(candidates.end(), alone.begin(), alone.end());
  for (Candidate& layout : widestLayouts(change)) {
    layout.settings.insert(layout.settings.begin(), settings.begin(),
                           settings.end());
    candidates.push_back(std::move(layout));
  }
  std::erase(settings, "parallel.shard=\"parameters\"");
  for (Candidate& layout : shardedLayouts(change)) {
    layout.settings.insert(layout.settings.begin(), settings.begin(),
                           settings.end());
    candidates.push_back(std::move(layout));
  }
  return candidates;
}

void FitSearch::help(diag::Builder& builder) {
  constexpr int most = 3;
  int found = 0;
  auto tryAll = [&](const Candidates& candidates) {
    if (found < most)
      found += propose(candidates, builder);
  };
  tryAll(recomputing());
  tryAll(fewerExpertRows());
  tryAll(smallerParts());
  tryAll(smallerMicroBatches());
  tryAll(widerLayouts());
  tryAll(moreRanks());
  if (found == 0)
    tryAll(severalAtOnce());
  if (found == 0)
    tryAll(shorterSequences());
  // The memory of a CPU device is a setting of the user.
  if (recipe.string("cluster.hardware.kind") == "cpu") {
    constexpr int64_t mib = int64_t(1) << 20;
    const int64_t unit = forecast.total({}) < 4096 * mib ? 64 : 1024;
    const int64_t parts = (forecast.total({}) / mib + unit) / unit * unit;
    builder.help("where a rank has as much: `cluster.hardware.memory=" +
                 (unit == 64 ? std::to_string(parts) + "MiB"
                             : std::to_string(parts / 1024) + "GiB") +
                 "`");
    return;
  }
  if (found == 0)
    builder.help("no change of `memory`, `parallel`, `batch.micro`, "
                 "`cluster.ranks` or `data.sequence` that was tried fits: take "
                 "a smaller model, an adapter, or a device with more memory");
}

/// The stage with the most memory.
const ir::Module& fullest(const Compilation& compilation) {
  const std::vector<cost::MemoryTable>& stages = compilation.estimate.stages;
  size_t stage = 0;
  for (size_t i = 1; i < stages.size(); ++i)
    if (stages[i].total > stages[stage].total)
      stage = i;
  return compilation.stages[stage];
}

/// Whether the recipe itself, and not a parent, sets the value.
bool isSetHere(const Session& session, const recipe::Recipe& recipe,
               const char* path) {
  using Kind = recipe::Origin::Kind;
  const recipe::Value* value = recipe.find(path);
  if (!value)
    return false;
  const recipe::Origin& origin = value->origin;
  return origin.kind == Kind::commandLine ||
         (origin.kind == Kind::written &&
          session.sources.kind(origin.range.source) == SourceKind::file &&
          origin.range.source == recipe.range.source &&
          origin.range.begin > recipe.range.begin);
}

/// The setting with the largest influence on memory.
const char* culprit(const Compilation& compilation) {
  const cost::MemoryTable& memory = compilation.estimate.memory;
  const recipe::Recipe& recipe = compilation.recipe;
  const recipe::Origin::Kind shard = recipe.at("parallel.shard").origin.kind;
  const bool isReplicated = shard != recipe::Origin::Kind::defaultValue &&
                            shard != recipe::Origin::Kind::derived &&
                            recipe.string("parallel.shard") == "none" &&
                            recipe.integer("parallel.dp") > 1;
  if (isReplicated &&
      memory.optimizer >= std::max(memory.parameters, memory.activations))
    return "parallel.shard";
  if (memory.activations <=
      std::max({memory.parameters, memory.gradients, memory.optimizer}))
    return "cluster.hardware";
  bool isOneSequence = compilation.recipe.integer("batch.micro") == 1;
  return isOneSequence ? "data.sequence" : "batch.micro";
}

/// If the recipe does not set the most influential setting itself, the first
/// setting with an influence on memory that it does set.
const char* changedCulprit(const Session& session,
                           const Compilation& compilation) {
  const recipe::Recipe& recipe = compilation.recipe;
  const char* most = culprit(compilation);
  if (isSetHere(session, recipe, most))
    return most;
  constexpr const char* paths[] = {
      "model",         "cluster.hardware",  "cluster.ranks",
      "data.sequence", "batch.micro",       "memory.recompute",
      "parallel.tp",   "parallel.pp",       "parallel.shard",
      "parallel.ep",   "precision.compute", "precision.master",
      "batch.global"};
  for (const char* path : paths)
    if (isSetHere(session, recipe, path))
      return path;
  return most;
}

} // namespace

bool checkFit(Session& session, diag::Engine& engine,
              const Compilation& compilation) {
  if (recipe::serves(compilation.recipe))
    return checkServingFit(session, engine, compilation);
  const cost::MemoryTable& memory = compilation.estimate.memory;
  if (memory.fits())
    return true;
  const recipe::Recipe& recipe = compilation.recipe;
  auto builder = engine.report(
      diag::Kind::OutOfMemory,
      recipe.at(changedCulprit(session, compilation)).origin.range,
      "the plan takes " + formatBytes(memory.total) + " on each rank, `" +
          recipe.string("cluster.hardware.name") + "` has " +
          formatBytes(memory.capacity));
  builder.note("the largest parts are " + largestCategories(memory, {}));
  std::string buffers;
  const ir::Module& stage = fullest(compilation);
  for (const LargestBuffer& buffer : largestBuffers(stage, 3))
    buffers += (buffers.empty() ? "" : ", ") + describeBuffer(stage, buffer) +
               " " + formatBytes(buffer.bytes);
  builder.note("the largest buffers are " + buffers);
  const recipe::Origin& given = recipe.at("cluster.hardware.memory").origin;
  if (given.kind == recipe::Origin::Kind::written &&
      session.sources.kind(given.range.source) == SourceKind::file)
    builder.label(given.range, "the memory of a rank is given here");
  FitSearch(session, compilation).help(builder);
  return false;
}

} // namespace recipec::driver
