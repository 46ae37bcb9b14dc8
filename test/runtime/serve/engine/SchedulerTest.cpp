// The scheduler's rules one by one, and random loads on a fake model: each
// answer is that of its prompt alone, and no step breaks a limit.

#include "runtime/serve/engine/Scheduler.h"
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>

namespace reciperun::serve {
namespace {

std::vector<int32_t> prompt(int64_t tokens, int32_t first = 0) {
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  std::iota(ids.begin(), ids.end(), first);
  for (int32_t& id : ids)
    id %= int32_t(FakeModel::vocabulary);
  return ids;
}

RequestId idOf(const Expected<RequestId>& submitted) {
  EXPECT_TRUE(submitted) << submitted.message();
  return submitted ? *submitted : -1;
}

/// A scheduler that runs on a fake model, and what it answers.
struct Server {
  explicit Server(const plan::Serving& limits, int64_t patience = 32,
                  int depth = 1)
      : scheduler(limits, depth, patience), model(limits, depth) {}

  bool start() {
    while (int(underway.size()) < model.depth()) {
      std::optional<StepPlan> next = scheduler.next();
      if (!next)
        return true;
      const Status started = model.start(*next);
      EXPECT_TRUE(started.isOk()) << started.message();
      if (!started.isOk())
        return false;
      underway.push_back(*std::move(next));
    }
    return true;
  }

  /// Starts steps, and finishes the first; false when there is none.
  bool step() {
    if (!start() || underway.empty())
      return false;
    const std::optional<StepPlan> step = std::move(underway.front());
    underway.pop_front();
    StepResults results;
    EXPECT_TRUE(model.finish(results).isOk());
    last.clear();
    std::vector<StepOutcome> outcomes;
    size_t rows = 0;
    for (const StepPart& part : step->parts) {
      last[part.request] = int64_t(part.ids.size());
      if (part.rows == 0)
        continue;
      std::vector<int32_t>& prompt = promptRows[part.request];
      if (part.promptRows > 0)
        prompt.resize(size_t(part.position)); // again after a preemption
      prompt.insert(prompt.end(), model.rows().begin() + long(rows),
                    model.rows().begin() +
                        long(rows + size_t(part.promptRows)));
      rows += size_t(part.rows);
      if (part.rows == part.promptRows) {
        outcomes.push_back({part.request});
        continue;
      }
      const int32_t token = model.rows()[rows - 1];
      const Sequence& sequence = *scheduler.find(part.request);
      answers[part.request].push_back(token);
      const bool ends = sequence.length() + 1 == sequence.mostTokens;
      if (ends)
        finished.push_back(part.request);
      outcomes.push_back({part.request, {token}, ends});
    }
    bucket = step->bucket;
    scheduler.finish(outcomes);
    return true;
  }
  int runAll() {
    int steps = 0;
    while (step())
      ++steps;
    EXPECT_TRUE(scheduler.isIdle());
    return steps;
  }

  Scheduler scheduler;
  FakeModel model;
  std::deque<StepPlan> underway;
  std::map<RequestId, int64_t> last; // tokens in the last step
  int bucket = -1;
  std::map<RequestId, std::vector<int32_t>> answers;
  /// The likeliest tokens by the rows of prompts.
  std::map<RequestId, std::vector<int32_t>> promptRows;
  std::vector<RequestId> finished; // in order
};

TEST(Scheduler, AnswersAPromptInParts) {
  Server server(smallLimits());
  const RequestId id = idOf(server.scheduler.submit(prompt(40), 3));
  EXPECT_EQ(server.runAll(), 3 + 2); // 16, 16, 8 and two more tokens
  EXPECT_EQ(server.answers[id], FakeModel::answer(prompt(40), 3));
  EXPECT_EQ(server.scheduler.statistics().promptTokens, 40);
  EXPECT_EQ(server.scheduler.statistics().decodedTokens, 2);
  EXPECT_EQ(server.scheduler.pages().held(), 0);
}

TEST(Scheduler, ComputesDecodingTokensBeforePrompts) {
  Server server(smallLimits());
  const RequestId first = idOf(server.scheduler.submit(prompt(8), 9));
  server.step();
  const RequestId second = idOf(server.scheduler.submit(prompt(40, 9), 2));
  server.step();
  EXPECT_EQ(server.last,
            (std::map<RequestId, int64_t>{{first, 1}, {second, 15}}));
  server.runAll();
}

TEST(Scheduler, ComputesAWholePromptWithoutChunks) {
  plan::Serving limits = smallLimits();
  limits.chunkedPrefill = false;
  Server server(limits);
  const RequestId first = idOf(server.scheduler.submit(prompt(8), 9));
  server.step();
  const RequestId second = idOf(server.scheduler.submit(prompt(16, 9), 2));
  server.step(); // the prompt takes the whole step
  EXPECT_EQ(server.last, (std::map<RequestId, int64_t>{{second, 16}}));
  server.step();
  EXPECT_EQ(server.last,
            (std::map<RequestId, int64_t>{{first, 1}, {second, 1}}));
  server.runAll();
  EXPECT_EQ(server.answers[first], FakeModel::answer(prompt(8), 9));
}

TEST(Scheduler, RefusesWhatCanNeverBeComputed) {
  plan::Serving limits = smallLimits();
  limits.maxInput = 50;
  auto message = [&](int64_t tokens, int64_t answer = 1) {
    return Scheduler(limits).submit(prompt(tokens), answer).message();
  };
  EXPECT_EQ(message(0), "the prompt has no token");
  EXPECT_EQ(message(64), "the prompt has 64 tokens, the plan takes 64 of a "
                         "prompt and its answer together; compile with a "
                         "larger `data.sequence`");
  EXPECT_EQ(message(51), "the prompt has 51 tokens, the plan takes "
                         "`serve.max_input` = 50; compile with a larger one");
  EXPECT_EQ(message(50), "");
  EXPECT_EQ(message(1, 0), "an answer of at most 0 tokens is asked for; ask "
                           "for at least 1");
  limits.chunkedPrefill = false;
  EXPECT_EQ(message(17),
            "the prompt has 17 tokens, which do not fit into a step of "
            "`serve.token_budget` = 16; compile with a larger one or with "
            "`serve.chunked_prefill` = true");
  EXPECT_EQ(message(16), "");
}

TEST(Scheduler, EndsAnswersAtTheLimits) {
  plan::Serving limits = smallLimits();
  limits.maxOutput = 20;
  Scheduler scheduler(limits);
  auto most = [&](int64_t tokens, int64_t answer) {
    return scheduler.find(*scheduler.submit(prompt(tokens), answer))
        ->mostTokens;
  };
  EXPECT_EQ(most(5, 10), 15);
  EXPECT_EQ(most(5, 100), 25);
  EXPECT_EQ(most(60, 100), 64);
}

TEST(Scheduler, ReusesThePagesOfACommonPrefix) {
  Server server(smallLimits());
  server.scheduler.submit(prompt(20), 4).status().isOk();
  server.runAll();
  // All but the last token are cached, in full pages: 16 of 20.
  const RequestId same = idOf(server.scheduler.submit(prompt(20), 4));
  server.step();
  EXPECT_EQ(server.last[same], 4);
  EXPECT_EQ(server.scheduler.statistics().reusedTokens, 16);
  // One that differs in its token 9 has two pages in common.
  std::vector<int32_t> other = prompt(20);
  other[9] = 49;
  const RequestId differs = idOf(server.scheduler.submit(other, 4));
  server.runAll();
  EXPECT_EQ(server.scheduler.statistics().reusedTokens, 16 + 8);
  EXPECT_EQ(server.answers[same], FakeModel::answer(prompt(20), 4));
  EXPECT_EQ(server.answers[differs], FakeModel::answer(other, 4));
}

TEST(Scheduler, ReusesThePagesOfAnAnswer) {
  Server server(smallLimits());
  const RequestId first = idOf(server.scheduler.submit(prompt(6), 7));
  server.runAll();
  std::vector<int32_t> dialogue = prompt(6);
  for (int32_t token : server.answers[first])
    dialogue.push_back(token);
  dialogue.push_back(1);
  server.scheduler.submit(dialogue, 2).status().isOk();
  server.runAll();
  EXPECT_EQ(server.scheduler.statistics().reusedTokens, 12);
}

TEST(Scheduler, StartsEachPromptAnewWhereStatesAreKept) {
  plan::Serving limits = smallLimits();
  limits.hasStates = true;
  Server server(limits);
  for (int i = 0; i < 2; ++i) {
    const RequestId id = idOf(server.scheduler.submit(prompt(20), 4));
    server.runAll();
    EXPECT_EQ(server.answers[id], FakeModel::answer(prompt(20), 4));
  }
  EXPECT_EQ(server.scheduler.statistics().reusedTokens, 0);
}

TEST(Scheduler, ReservesPagesForWholeAnswers) {
  plan::Serving limits = smallLimits();
  limits.maxInput = limits.maxOutput = limits.maxTokens = 24;
  limits.pages = 10; // of 4 tokens
  Server server(limits);
  for (int i = 0; i < 3; ++i) // of 8 + 12 - 1 tokens, 5 pages
    server.scheduler.submit(prompt(8, i), 12).status().isOk();
  for (int i = 0; i < 3; ++i)
    server.step();
  EXPECT_EQ(server.scheduler.running(), 2u);
  server.runAll();
  EXPECT_EQ(server.scheduler.statistics().preemptions, 0);
}

TEST(Scheduler, PreemptsTheLastOfTheLowestPriority) {
  plan::Serving limits = smallLimits();
  limits.policy = plan::ServingPolicy::maxUtilization;
  limits.prefixCache = false;
  limits.maxInput = limits.maxOutput = limits.maxTokens = 24;
  limits.pages = 8;
  Server server(limits);
  std::vector<RequestId> ids;
  for (int i = 0; i < 3; ++i) // 2 pages each at first, 5 in the end
    ids.push_back(
        idOf(server.scheduler.submit(prompt(8, i), 12, i == 0 ? 0 : 1)));
  while (server.scheduler.statistics().preemptions == 0)
    ASSERT_TRUE(server.step());
  EXPECT_EQ(server.scheduler.find(ids[0])->slot, -1);
  EXPECT_GE(server.scheduler.find(ids[1])->slot, 0);
  EXPECT_GE(server.scheduler.find(ids[2])->slot, 0);
  server.runAll();
  EXPECT_EQ(server.finished, (std::vector<RequestId>{ids[1], ids[2], ids[0]}));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(server.answers[ids[size_t(i)]],
              FakeModel::answer(prompt(8, i), 12));
  EXPECT_GT(server.scheduler.statistics().recomputedTokens, 0);
}

TEST(Scheduler, PrefersHighPrioritiesThenEarlyArrivals) {
  plan::Serving limits = smallLimits();
  limits.maxBatch = 1;
  limits.buckets = bucketsOf(limits);
  Server server(limits);
  std::vector<RequestId> ids;
  for (int priority : {0, 5, 0, 5, 9})
    ids.push_back(idOf(server.scheduler.submit(prompt(4), 2, priority)));
  server.runAll();
  EXPECT_EQ(server.finished,
            (std::vector<RequestId>{ids[4], ids[1], ids[3], ids[0], ids[2]}));
}

TEST(Scheduler, BoundsTheWaitOfLowPriorities) {
  plan::Serving limits = smallLimits();
  limits.maxBatch = 1;
  limits.buckets = bucketsOf(limits);
  Server server(limits, /*patience=*/3);
  const RequestId low = idOf(server.scheduler.submit(prompt(4), 1, -1));
  for (int i = 0; i < 9; ++i)
    idOf(server.scheduler.submit(prompt(4), 1, 1));
  server.runAll();
  ASSERT_EQ(server.finished.size(), 10u);
  EXPECT_EQ(server.finished[3], low);
}

TEST(Scheduler, ChoosesTheNarrowestBucketThatFits) {
  plan::Serving limits = smallLimits();
  limits.tokenBudget = 64;
  limits.buckets = bucketsOf(limits); // 1, 2, 4, 8, 16, 32, 64
  Server server(limits);
  const RequestId id = idOf(server.scheduler.submit(prompt(10), 2));
  server.step();
  EXPECT_EQ(server.last[id], 10);
  EXPECT_EQ(limits.buckets[size_t(server.bucket)].tokens, 16);
  const RequestId wide = idOf(server.scheduler.submit(prompt(16, 3), 1));
  server.step(); // with the token of the other
  EXPECT_EQ(server.last[wide], 16);
  EXPECT_EQ(limits.buckets[size_t(server.bucket)].tokens, 32);
  server.runAll();
}

TEST(Scheduler, CancelsWithinAStep) {
  Server server(smallLimits());
  const RequestId waiting = idOf(server.scheduler.submit(prompt(8), 4));
  EXPECT_TRUE(server.scheduler.cancel(waiting));
  EXPECT_FALSE(server.scheduler.cancel(waiting));
  EXPECT_TRUE(server.scheduler.isIdle());

  const RequestId running = idOf(server.scheduler.submit(prompt(8), 4));
  server.step();
  EXPECT_TRUE(server.scheduler.cancel(running));
  EXPECT_EQ(server.scheduler.pages().held(), 0);

  // While a step is underway, the request ends with the step.
  const RequestId underway = idOf(server.scheduler.submit(prompt(30, 7), 4));
  ASSERT_TRUE(server.scheduler.next());
  EXPECT_TRUE(server.scheduler.cancel(underway));
  EXPECT_FALSE(server.scheduler.isIdle());
  server.scheduler.finish({});
  EXPECT_TRUE(server.scheduler.isIdle());
  EXPECT_EQ(server.scheduler.pages().held(), 0);
}

TEST(Scheduler, GivesEachStepUnderwayItsShareOfTheSequences) {
  Server server(smallLimits(), /*patience=*/32, /*depth=*/2);
  for (int i = 0; i < 5; ++i)
    idOf(server.scheduler.submit(prompt(2, i), 4));
  ASSERT_TRUE(server.start());
  ASSERT_EQ(server.underway.size(), 2u);
  EXPECT_EQ(server.underway[0].parts.size(), 3u);
  EXPECT_EQ(server.underway[1].parts.size(), 2u);
  EXPECT_EQ(server.runAll(), 2 * 4);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(server.answers[i], FakeModel::answer(prompt(2, i), 4));
}

TEST(Scheduler, CancelsInAStepBehindTheFirst) {
  Server server(smallLimits(), /*patience=*/32, /*depth=*/2);
  const RequestId first = idOf(server.scheduler.submit(prompt(8), 4));
  const RequestId second = idOf(server.scheduler.submit(prompt(8, 9), 4));
  ASSERT_TRUE(server.start());
  EXPECT_TRUE(server.scheduler.cancel(second));
  server.step();
  EXPECT_NE(server.scheduler.find(second), nullptr);
  server.step();
  EXPECT_EQ(server.scheduler.find(second), nullptr);
  server.runAll();
  EXPECT_EQ(server.answers[first], FakeModel::answer(prompt(8), 4));
}

TEST(Scheduler, SharesStepsBetweenAdapters) {
  Server server(limitsOfAdapters(2));
  const AdapterId adapters[] = {noAdapter, server.scheduler.adapters().add(),
                                server.scheduler.adapters().add()};
  for (AdapterId adapter : adapters)
    idOf(server.scheduler.submit(prompt(4), 3, 0, false, adapter));
  server.step();
  EXPECT_EQ(server.last.size(), 3u);
  server.runAll();
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(server.answers[RequestId(i)],
              FakeModel::answer(prompt(4), 3, adapters[i]));
  EXPECT_EQ(server.scheduler.statistics().adapterLoads, 2);
}

TEST(Scheduler, WaitsForAPlaceOfAnAdapter) {
  Server server(limitsOfAdapters(1));
  const AdapterId first = server.scheduler.adapters().add(),
                  second = server.scheduler.adapters().add();
  idOf(server.scheduler.submit(prompt(4), 3, 0, false, first));
  idOf(server.scheduler.submit(prompt(4), 3, 0, false, second));
  server.step();
  EXPECT_EQ(server.scheduler.waiting(), 1u);
  server.runAll();
  EXPECT_EQ(server.finished, (std::vector<RequestId>{0, 1}));
  EXPECT_EQ(server.scheduler.statistics().adapterLoads, 2);
}

/// Two adapters in turn, in one place: each place serves many sequences before
/// it is given up, and none waits for ever.
TEST(Scheduler, OvertakesASequenceThatWaitsForAPlace) {
  const plan::Serving limits = limitsOfAdapters(1);
  Server server(limits);
  const AdapterId adapters[] = {server.scheduler.adapters().add(),
                                server.scheduler.adapters().add()};
  const int64_t count = 20 * limits.maxBatch;
  for (int64_t i = 0; i < count; ++i)
    idOf(server.scheduler.submit(prompt(4), 3, 0, false, adapters[i % 2]));
  server.runAll();
  EXPECT_EQ(int64_t(server.finished.size()), count);
  for (int64_t i = 0; i < count; ++i)
    EXPECT_EQ(server.answers[i],
              FakeModel::answer(prompt(4), 3, adapters[i % 2]));
  EXPECT_LE(server.scheduler.statistics().adapterLoads, 8);
  // The first sequence of the second adapter waits for four batches and the end
  // of those that run.
  const auto second = std::ranges::find(server.finished, RequestId(1));
  EXPECT_LE(second - server.finished.begin(), 6 * limits.maxBatch);
}

TEST(Scheduler, ReusesNoPagesOfAnotherAdapter) {
  Server server(limitsOfAdapters(2));
  const AdapterId first = server.scheduler.adapters().add(),
                  second = server.scheduler.adapters().add();
  for (AdapterId adapter : {first, second, first}) {
    idOf(server.scheduler.submit(prompt(12), 1, 0, false, adapter));
    server.runAll();
  }
  EXPECT_EQ(server.scheduler.statistics().reusedTokens, 8);
}

TEST(Scheduler, ComputesPromptsInPartsOfTheRowsThatAreLeft) {
  Server server(smallLimits()); // at most 8 rows a step
  const RequestId first = idOf(server.scheduler.submit(prompt(8), 9));
  server.step();
  const RequestId second =
      idOf(server.scheduler.submit(prompt(20), 2, 0, /*wantsPromptRows=*/true));
  const RequestId third = idOf(server.scheduler.submit(prompt(8, 9), 1));
  // One row is that of the first, and one is kept for the third.
  server.step();
  EXPECT_EQ(server.last, (std::map<RequestId, int64_t>{
                             {first, 1}, {second, 6}, {third, 8}}));
  server.step();
  EXPECT_EQ(server.last,
            (std::map<RequestId, int64_t>{{first, 1}, {second, 7}}));
  server.runAll();
  // Pages of the first would save the second its prompt, but give no rows.
  EXPECT_EQ(server.scheduler.statistics().reusedTokens, 0);
  EXPECT_EQ(server.answers[second], FakeModel::answer(prompt(20), 2));
  ASSERT_EQ(server.promptRows[second].size(), 19);
  for (int64_t i = 0; i < 19; ++i)
    EXPECT_EQ(server.promptRows[second][size_t(i)],
              FakeModel::after(prompt(i + 1)));
}

// ---- random loads

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
    sum.recomputedTokens += counts.recomputedTokens;
    sum.adapterLoads += counts.adapterLoads;
    evictions += server.scheduler.pages().evictions();
  }
  EXPECT_GT(sum.preemptions, 50);
  EXPECT_GT(sum.reusedTokens, 500);
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
