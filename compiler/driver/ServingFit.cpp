// 1. Report what is too small: the cache's capacity, with the bytes of the
//    longest sequence; or the device's memory, with the total.
// 2. Try changes in order of increasing cost: more of the memory, fewer tokens
//    in a step, fewer sequences, shorter sequences.

#include "compiler/driver/ServingFit.h"

#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/Trial.h"
#include "compiler/recipe/Format.h"

#include <algorithm>
#include <string>
#include <vector>

namespace recipec::driver {
namespace {

using Settings = std::vector<std::string>;

class ServingFit {
public:
  ServingFit(Session& session, const Compilation& compilation)
      : session(session), recipe(compilation.recipe), cache(compilation.cache),
        memory(cache.holdsSequence()
                   ? compilation.estimate.memory
                   : compilation.estimate.stages[size_t(cache.stage)]) {}

  void report(diag::Engine& engine) const;

private:
  bool hasCacheBytes() const { return !recipe.at("serve.cache").isAuto(); }
  /// The cache bytes of a sequence of maximum length.
  int64_t sequenceBytes() const {
    return cache.least * (cache.pageBytes + cache.draftPageBytes);
  }
  /// The bytes of all pages, including those of a draft model.
  int64_t cacheBytes() const {
    return cache.bytes + cache.pages * cache.draftPageBytes;
  }
  diag::Builder reportTotal(diag::Engine& engine) const;
  diag::Builder reportBytes(diag::Engine& engine) const;
  diag::Builder reportRoom(diag::Engine& engine) const;
  std::vector<Settings> candidates() const;
  void propose(diag::Builder& builder) const;

  Session& session;
  const recipe::Recipe& recipe;
  const passes::CacheSize& cache;
  const cost::MemoryTable& memory;
};

std::string assigned(const char* path, int64_t value) {
  return std::string(path) + "=" + std::to_string(value);
}

/// Whole units, rounded up, as a recipe writes them: `12MiB`.
std::string writtenBytes(int64_t bytes) {
  constexpr int64_t mebibyte = int64_t(1) << 20;
  return std::to_string((bytes + mebibyte - 1) / mebibyte) + "MiB";
}

diag::Builder ServingFit::reportTotal(diag::Engine& engine) const {
  const char* culprit = hasCacheBytes() ? "serve.cache" : "cluster.hardware";
  return engine.report(diag::Kind::OutOfMemory, recipe.at(culprit).origin.range,
                       "the plan takes " + formatBytes(memory.total) + ", `" +
                           recipe.string("cluster.hardware.name") + "` has " +
                           formatBytes(memory.capacity));
}

diag::Builder ServingFit::reportBytes(diag::Engine& engine) const {
  return engine.report(
      diag::Kind::OutOfMemory, recipe.at("serve.cache").origin.range,
      "`serve.cache` = " + formatBytes(cache.room) + " holds " +
          std::to_string(cache.roomPages * cache.pageTokens) +
          " tokens, and a sequence has up to " +
          std::to_string(recipe.integer("data.sequence")) + ", which take " +
          formatBytes(sequenceBytes()));
}

diag::Builder ServingFit::reportRoom(diag::Engine& engine) const {
  const std::string left = cache.room > 0
                               ? formatBytes(cache.room) + " are left for it"
                               : "no memory is left for it";
  return engine.report(
      diag::Kind::OutOfMemory, recipe.at("data.sequence").origin.range,
      "the cache of a sequence of " +
          std::to_string(recipe.integer("data.sequence")) + " tokens takes " +
          formatBytes(sequenceBytes()) + ", and " + left);
}

/// The candidates; each is tried alone.
std::vector<Settings> ServingFit::candidates() const {
  std::vector<Settings> all;
  if (hasCacheBytes()) {
    all.push_back({"serve.cache=" + writtenBytes(sequenceBytes())});
    all.push_back({"serve.cache=auto"});
  } else if (recipe.real("serve.memory_fraction") < 0.95) {
    all.push_back({"serve.memory_fraction=0.95"});
  }
  const int64_t batch = recipe.integer("serve.max_batch");
  const int64_t budget = recipe.integer("serve.token_budget");
  for (int64_t part : {4, 16})
    if (budget / part >= batch)
      all.push_back({assigned("serve.token_budget", budget / part)});
  if (batch > 1)
    all.push_back({"serve.max_batch=1", "serve.token_budget=auto"});
  if (cache.roomPages > 0)
    all.push_back(
        {assigned("data.sequence", cache.roomPages * cache.pageTokens)});
  if (recipe.find("serve.draft.path"))
    all.push_back({"serve.draft=none"});
  return all;
}

void ServingFit::propose(diag::Builder& builder) const {
  constexpr int most = 3;
  int found = 0;
  for (const Settings& settings : candidates()) {
    if (found == most)
      return;
    std::optional<Compilation> tried = compileTrial(session, settings);
    if (!tried || !tried->fits())
      continue;
    ++found;
    std::string text = "`" + settings[0] + "`";
    if (settings.size() > 1)
      text += " with `" + settings[1] + "`";
    builder.help(text + " takes " + formatBytes(tried->estimate.memory.total) +
                 " and fits");
  }
  if (recipe.string("cluster.hardware.kind") == "cpu")
    builder.help("where the machine has more memory: set "
                 "`cluster.hardware.memory`");
  else if (found == 0)
    builder.help("take a smaller model, or a device with more memory");
}

void ServingFit::report(diag::Engine& engine) const {
  diag::Builder builder = cache.holdsSequence() ? reportTotal(engine)
                          : hasCacheBytes()     ? reportBytes(engine)
                                                : reportRoom(engine);
  const double fraction = recipe.real("serve.memory_fraction");
  if (!hasCacheBytes())
    builder.note(
        "`serve.memory_fraction` = " +
        recipe::formatValue(recipe.at("serve.memory_fraction"), {}) + " of " +
        formatBytes(memory.capacity) + " is " +
        formatBytes(int64_t(fraction * double(memory.capacity))) + ", and " +
        formatBytes(memory.total - cacheBytes()) +
        " are taken otherwise: " + largestCategories(memory, {"cache"}));
  else
    builder.note("the largest parts are " + largestCategories(memory, {}));
  propose(builder);
}

} // namespace

bool checkServingFit(Session& session, diag::Engine& engine,
                     const Compilation& compilation) {
  if (compilation.fits())
    return true;
  ServingFit(session, compilation).report(engine);
  return false;
}

} // namespace recipec::driver
