// Random loads of the scheduler on a fake model: each answer is that of its
// prompt alone, and no step breaks a limit.

#include "SchedulerServer.h"

#include <algorithm>
#include <map>
#include <random>

namespace reciperun::serve {
namespace {

/// A request that arrives, and possibly is cancelled, before some step.
struct Arrival {
  int64_t step = 0;
  std::vector<int32_t> prompt;
  int64_t tokens = 0;
  int priority = 0;
  bool wantsPromptRows = false;
  AdapterId adapter = noAdapter;
  int64_t cancelled = -1; // before this step
};

/// The adapters that requests of a load choose from.
constexpr int64_t adapterCount = 4;

struct Load {
  plan::Serving limits;
  int64_t patience = 32;
  int depth = 1;                 // steps underway
  std::vector<Arrival> arrivals; // by step
};

class Drawer {
public:
  explicit Drawer(uint32_t seed) : random(seed) {}

  int64_t from(int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  }
  bool once(int64_t in) { return from(1, in) == 1; }

  plan::Serving limits() {
    plan::Serving limits;
    limits.maxBatch = from(1, 6);
    limits.tokenBudget = from(limits.maxBatch, 40);
    limits.maxTokens = from(4, 48);
    limits.maxInput = from(2, limits.maxTokens);
    limits.maxOutput = from(2, limits.maxTokens);
    limits.hasStates = once(4);
    limits.page = limits.hasStates && once(3) ? 0 : from(1, 9);
    const int64_t longest =
        limits.page ? (limits.maxTokens + limits.page - 1) / limits.page : 0;
    limits.pages = limits.page ? from(longest, 2 * longest) : 0;
    limits.prefixCache = !once(3);
    limits.hostPages =
        limits.page && limits.prefixCache && once(2) ? from(1, 2 * longest) : 0;
    limits.chunkedPrefill = !once(3);
    limits.policy = once(2) ? plan::ServingPolicy::maxUtilization
                            : plan::ServingPolicy::guaranteedNoEvict;
    limits.buckets = bucketsOf(limits);
    limits.adapters = once(2) ? 0 : from(1, adapterCount);
    return limits;
  }

  Load load() {
    Load load{limits(), from(1, 8)};
    const plan::Serving& limits = load.limits;
    int64_t longest = std::min(limits.maxInput, limits.maxTokens - 1);
    if (!limits.chunkedPrefill)
      longest = std::min(longest, limits.tokenBudget);
    tokens = once(2) ? 2 : FakeModel::vocabulary;
    int64_t step = 0;
    for (int64_t i = from(1, 14); i > 0; --i) {
      Arrival arrival;
      arrival.step = step += once(2) ? 0 : from(0, 6);
      arrival.prompt = promptOf(from(1, longest), load);
      arrival.tokens = from(1, limits.maxOutput);
      arrival.priority = int(from(0, 2));
      arrival.wantsPromptRows = once(4);
      if (limits.adapters > 0)
        arrival.adapter = from(noAdapter, adapterCount - 1);
      arrival.cancelled = once(5) ? step + from(0, 12) : -1;
      load.arrivals.push_back(arrival);
    }
    load.depth = once(2) ? 1 : int(from(2, 3));
    return load;
  }

private:
  /// Tokens that begin like an earlier prompt, in half of the cases.
  std::vector<int32_t> promptOf(int64_t length, const Load& load) {
    std::vector<int32_t> ids;
    if (!load.arrivals.empty() && once(2)) {
      const auto& other =
          load.arrivals[size_t(from(0, int64_t(load.arrivals.size()) - 1))];
      ids = other.prompt;
      ids.resize(size_t(from(0, std::min(length, int64_t(ids.size())))));
    }
    while (int64_t(ids.size()) < length)
      ids.push_back(int32_t(from(0, tokens - 1)));
    return ids;
  }

  std::mt19937 random;
  /// Of prompts. With few of them, pages are often equal behind others.
  int64_t tokens = FakeModel::vocabulary;
};

void addAdapters(Server& server) {
  for (int64_t i = 0; i < adapterCount; ++i)
    ASSERT_EQ(server.scheduler.adapters().add(), i);
}

/// Runs a load. The virtual clock counts steps, also those without work.
void runLoad(const Load& load) {
  Server server(load.limits, load.patience, load.depth);
  addAdapters(server);
  std::vector<RequestId> ids;
  std::set<RequestId> cancelled;
  int64_t work = 0;
  for (const Arrival& arrival : load.arrivals)
    work += int64_t(arrival.prompt.size()) + arrival.tokens;
  const bool evicts = load.limits.policy == plan::ServingPolicy::maxUtilization;
  const int64_t most =
      load.arrivals.back().step + 20 + work * (evicts ? 10 : 1);
  for (int64_t step = 0;; ++step) {
    ASSERT_LT(step, most) << "the load does not end";
    while (ids.size() < load.arrivals.size() &&
           load.arrivals[ids.size()].step == step) {
      const Arrival& arrival = load.arrivals[ids.size()];
      ids.push_back(idOf(server.scheduler.submit(
          arrival.prompt, arrival.tokens, arrival.priority,
          arrival.wantsPromptRows, arrival.adapter)));
    }
    for (size_t i = 0; i < ids.size(); ++i)
      if (load.arrivals[i].cancelled == step && server.scheduler.cancel(ids[i]))
        cancelled.insert(ids[i]);
    const bool worked = server.step();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    ASSERT_TRUE(worked || server.scheduler.isIdle()) << "a request is stuck";
    if (!worked && ids.size() == load.arrivals.size())
      break;
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const Arrival& arrival = load.arrivals[i];
    const int64_t tokens =
        std::min({arrival.tokens, load.limits.maxOutput,
                  load.limits.maxTokens - int64_t(arrival.prompt.size())});
    std::vector<int32_t> expected =
        FakeModel::answer(arrival.prompt, tokens, arrival.adapter);
    if (cancelled.contains(ids[i]))
      expected.resize(server.answers[ids[i]].size());
    ASSERT_EQ(server.answers[ids[i]], expected) << "request " << i;
    if (!arrival.wantsPromptRows || expected.empty())
      continue;
    const std::vector<int32_t>& rows = server.promptRows[ids[i]];
    ASSERT_GE(rows.size() + 1, arrival.prompt.size()) << "request " << i;
    for (size_t row = 0; row + 1 < arrival.prompt.size(); ++row)
      ASSERT_EQ(rows[row],
                FakeModel::after(std::span(arrival.prompt).first(row + 1),
                                 arrival.adapter))
          << "request " << i;
  }
  ASSERT_EQ(server.scheduler.pages().held(), 0);
  ASSERT_EQ(server.scheduler.pagesOfHost().held(), 0);
  if (!evicts) {
    ASSERT_EQ(server.scheduler.statistics().preemptions, 0);
  }
}

TEST(Scheduler, AnswersRandomLoadsAsEachPromptAlone) {
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    runLoad(Drawer(seed).load());
    if (HasFailure())
      return;
  }
}

/// Random loads would prove little if they met no hard case.
TEST(Scheduler, RandomLoadsMeetTheHardCases) {
  SchedulerStatistics sum;
  int64_t evictions = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Load load = Drawer(seed).load();
    Server server(load.limits, load.patience);
    addAdapters(server);
    for (const Arrival& arrival : load.arrivals)
      idOf(server.scheduler.submit(arrival.prompt, arrival.tokens,
                                   /*priority=*/0, /*wantsPromptRows=*/false,
                                   arrival.adapter));
    server.runAll();
    const SchedulerStatistics& counts = server.scheduler.statistics();
    sum.preemptions += counts.preemptions;
    sum.reusedTokens += counts.reusedTokens;
    sum.restoredTokens += counts.restoredTokens;
    sum.recomputedTokens += counts.recomputedTokens;
    sum.adapterLoads += counts.adapterLoads;
    evictions += server.scheduler.pages().evictions();
  }
  EXPECT_GT(sum.preemptions, 50);
  EXPECT_GT(sum.reusedTokens, 500);
  EXPECT_GT(sum.restoredTokens, 100);
  EXPECT_GT(sum.recomputedTokens, 100);
  EXPECT_GT(evictions, 200);
  EXPECT_GT(sum.adapterLoads, 500);
}

TEST(Scheduler, GivesTheSameStepsForTheSameArrivals) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Load load = Drawer(seed).load();
    std::vector<std::map<RequestId, int64_t>> steps[2];
    for (auto& each : steps) {
      Server server(load.limits, load.patience, load.depth);
      for (const Arrival& arrival : load.arrivals)
        idOf(server.scheduler.submit(arrival.prompt, arrival.tokens,
                                     arrival.priority));
      while (server.step())
        each.push_back(server.last);
    }
    EXPECT_EQ(steps[0], steps[1]);
  }
}

} // namespace
} // namespace reciperun::serve
