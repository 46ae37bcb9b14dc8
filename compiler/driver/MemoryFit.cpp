// 1. Compare the predicted total with the device's memory.
// 2. Name the largest categories and buffers, at the user's value that they
//    depend on most: when activations lead, `batch.micro` (for generation,
//    whose caches they are, `data.sequence`), else the hardware.
// 3. Try changes from the mildest on: each is the recipe compiled anew with a
//    setting more, so that what is proposed is known to fit and to obey every
//    other rule of the recipe. Of an enormous model only a few are tried.

#include "compiler/driver/MemoryFit.h"

#include "compiler/driver/MemoryReport.h"

#include <algorithm>
#include <functional>
#include <set>

namespace recipec::driver {
namespace {

using Settings = std::vector<std::string>;

class FitSearch {
public:
  FitSearch(Session& session, const recipe::Recipe& recipe)
      : session(session), recipe(recipe) {}

  /// Reports what fits; says so when nothing of what it tries does.
  void help(diag::Builder& builder);

private:
  /// The total of the recipe under the settings, or none where the recipe
  /// refuses them or it does not fit.
  std::optional<int64_t> fittingTotal(const Settings& settings);
  /// Settings for 1, 2, ... until one fits; the first that does is proposed.
  bool propose(const std::vector<Settings>& candidates, diag::Builder& builder);

  std::vector<Settings> smallerMicroBatches() const;
  std::vector<Settings> smallerParts() const;
  std::vector<Settings> widerTensors() const;
  std::vector<Settings> moreRanks() const;
  std::vector<Settings> shorterSequences() const;
  std::vector<Settings> widerTensorsAndMoreRanks() const;

  Session& session;
  const recipe::Recipe& recipe;
  /// Ops that may yet be compiled; a compilation takes time in proportion.
  size_t budget = 60'000;
};

std::string setting(const char* path, int64_t value) {
  return std::string(path) + "=" + std::to_string(value);
}

std::optional<int64_t> FitSearch::fittingTotal(const Settings& settings) {
  size_t ops = recipe.model.calls.size();
  if (ops > budget)
    return std::nullopt;
  budget -= ops;
  diag::Engine silent; // a refusal is no message to the user
  std::vector<sema::Override> changes;
  for (const std::string& text : settings)
    session.addOverride(changes, text, "a change that was tried");
  std::optional<Compilation> tried = compile(session, silent, changes);
  if (!tried || !tried->estimate.memory.fits())
    return std::nullopt;
  return tried->estimate.memory.total;
}

bool FitSearch::propose(const std::vector<Settings>& candidates,
                        diag::Builder& builder) {
  for (const Settings& candidate : candidates) {
    std::optional<int64_t> total = fittingTotal(candidate);
    if (!total)
      continue;
    std::string text;
    for (const std::string& each : candidate)
      text += (text.empty() ? "`" : " with `") + each + "`";
    builder.help(text + " takes " + formatBytes(*total) + " and fits");
    return true;
  }
  return false;
}

std::vector<Settings> FitSearch::smallerMicroBatches() const {
  const int64_t micro = recipe.integer("batch.micro");
  std::set<int64_t, std::greater<>> divisors;
  for (int64_t small = 1; small <= micro / small; ++small)
    if (micro % small == 0)
      divisors.insert({small, micro / small});
  divisors.erase(micro);
  std::vector<Settings> candidates;
  for (int64_t divisor : divisors)
    candidates.push_back({setting("batch.micro", divisor)});
  return candidates;
}

/// Of what the ranks that share the data have alike.
std::vector<Settings> FitSearch::smallerParts() const {
  int64_t alike = recipe.integer("parallel.dp") * recipe.integer("parallel.cp");
  const std::string& shard = recipe.string("parallel.shard");
  std::vector<Settings> candidates;
  for (const char* more : {"gradients", "parameters"})
    if (alike > 1 && shard != more && shard != "parameters")
      candidates.push_back({"parallel.shard=\"" + std::string(more) + "\""});
  return candidates;
}

std::vector<Settings> FitSearch::widerTensors() const {
  std::vector<Settings> candidates;
  int64_t most = std::min(recipe.integer("cluster.ranks"),
                          recipe.integer("cluster.ranks_per_node"));
  for (int64_t tp = recipe.integer("parallel.tp") * 2; tp <= most; tp *= 2)
    candidates.push_back({setting("parallel.tp", tp)});
  return candidates;
}

std::vector<Settings> FitSearch::moreRanks() const {
  constexpr int64_t most = 1024;
  std::vector<Settings> candidates;
  for (int64_t ranks = recipe.integer("cluster.ranks") * 2; ranks <= most;
       ranks *= 2)
    candidates.push_back({setting("cluster.ranks", ranks)});
  return candidates;
}

std::vector<Settings> FitSearch::shorterSequences() const {
  std::vector<Settings> candidates;
  for (int64_t length = recipe.integer("data.sequence") / 2; length >= 64;
       length /= 2)
    candidates.push_back({setting("data.sequence", length)});
  return candidates;
}

std::vector<Settings> FitSearch::widerTensorsAndMoreRanks() const {
  constexpr int64_t most = 1024;
  std::vector<Settings> candidates;
  int64_t node = recipe.integer("cluster.ranks_per_node");
  for (int64_t ranks = std::max(node, recipe.integer("cluster.ranks"));
       ranks <= most; ranks *= 2)
    candidates.push_back(
        {setting("cluster.ranks", ranks), setting("parallel.tp", node)});
  return candidates;
}

void FitSearch::help(diag::Builder& builder) {
  bool found = propose(smallerMicroBatches(), builder);
  found |= propose(smallerParts(), builder);
  found |= propose(widerTensors(), builder);
  found |= propose(moreRanks(), builder);
  found |= propose(shorterSequences(), builder);
  if (!found)
    found = propose(widerTensorsAndMoreRanks(), builder);
  if (!found)
    builder.help("no change of `batch.micro`, `parallel.shard`, "
                 "`parallel.tp`, `cluster.ranks` or `data.sequence` that was "
                 "tried fits: take a smaller model, an adapter, or a device "
                 "with more memory");
}

/// The largest categories first, as `parameters 14.9 GiB`.
std::string largestCategories(const cost::MemoryTable& memory) {
  std::vector<MemoryRow> rows = memoryRows(memory);
  // The host's memory is another one than the device's where it is no CPU.
  if (memory.total == memory.arena + memory.library)
    std::erase_if(rows, [](const MemoryRow& row) {
      return row.name == "host" || row.name == "offloaded";
    });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const MemoryRow& left, const MemoryRow& right) {
                     return left.bytes > right.bytes;
                   });
  std::string text;
  for (const MemoryRow& row : rows)
    if (row.bytes > 0 && row.bytes * 20 >= memory.total)
      text += (text.empty() ? "" : ", ") + std::string(row.name) + " " +
              formatBytes(row.bytes);
  return text;
}

/// The stage that takes most.
const ir::Module& fullest(const Compilation& compilation) {
  const std::vector<cost::MemoryTable>& stages = compilation.estimate.stages;
  size_t stage = 0;
  for (size_t i = 1; i < stages.size(); ++i)
    if (stages[i].total > stages[stage].total)
      stage = i;
  return compilation.stages[stage];
}

/// The setting that the memory depends on most.
const char* culprit(const Compilation& compilation) {
  const cost::MemoryTable& memory = compilation.estimate.memory;
  if (memory.activations <=
      std::max({memory.parameters, memory.gradients, memory.optimizer}))
    return "cluster.hardware";
  bool isOneSequence = compilation.recipe.integer("batch.micro") == 1;
  return isOneSequence ? "data.sequence" : "batch.micro";
}

} // namespace

bool checkFit(Session& session, diag::Engine& engine,
              const Compilation& compilation) {
  const cost::MemoryTable& memory = compilation.estimate.memory;
  if (memory.fits())
    return true;
  const recipe::Recipe& recipe = compilation.recipe;
  auto builder = engine.report(
      diag::Kind::OutOfMemory, recipe.at(culprit(compilation)).origin.range,
      "the plan takes " + formatBytes(memory.total) + " on each rank, `" +
          recipe.string("cluster.hardware.name") + "` has " +
          formatBytes(memory.capacity));
  builder.note("the largest parts are " + largestCategories(memory));
  std::string buffers;
  for (const LargestBuffer& buffer : largestBuffers(fullest(compilation), 3))
    buffers += (buffers.empty() ? "`" : ", `") + buffer.name + "` " +
               formatBytes(buffer.bytes);
  builder.note("the largest buffers are " + buffers);
  FitSearch(session, recipe).help(builder);
  return false;
}

} // namespace recipec::driver
