// The scheduler's rules one by one.

#include "SchedulerServer.h"

#include <algorithm>
#include <map>

namespace reciperun::serve {
namespace {

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

/// Only the tokens of a page that is not full are computed again.
TEST(Scheduler, CopiesThePagesOfAPreemptedSequenceBackFromTheHost) {
  plan::Serving limits = smallLimits();
  limits.policy = plan::ServingPolicy::maxUtilization;
  limits.maxInput = limits.maxOutput = limits.maxTokens = 24;
  limits.pages = 8;
  int64_t recomputed[2], restored[2];
  for (int64_t hostPages : {0, 8}) {
    limits.hostPages = hostPages;
    Server server(limits);
    for (int i = 0; i < 3; ++i) // 2 pages each at first, 5 in the end
      idOf(server.scheduler.submit(prompt(8, i), 12));
    server.runAll();
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(server.answers[i], FakeModel::answer(prompt(8, i), 12));
    const SchedulerStatistics& counts = server.scheduler.statistics();
    EXPECT_GT(counts.preemptions, 0);
    recomputed[hostPages > 0] = counts.recomputedTokens;
    restored[hostPages > 0] = counts.restoredTokens;
    if (hostPages > 0)
      EXPECT_LE(counts.recomputedTokens, counts.preemptions * limits.page);
  }
  EXPECT_EQ(restored[0], 0);
  EXPECT_GT(restored[1], 0);
  EXPECT_LT(recomputed[1], recomputed[0]);
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

} // namespace
} // namespace reciperun::serve
