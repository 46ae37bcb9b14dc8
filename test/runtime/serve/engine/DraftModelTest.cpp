// Drafts of a fake model: answers do not depend on them, and a draft model that
// is the model itself has every guess accepted, so that its cache is right
// after rejected guesses, preemptions and shared prefixes.

#include "runtime/serve/engine/DraftModel.h"
#include "FakeModel.h"
#include "runtime/serve/engine/Engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace reciperun::serve {
namespace {

using Tokens = std::vector<int32_t>;

/// A model that is wrong where the right token is a multiple of `wrong`.
class WrongModel : public FakeModel {
public:
  WrongModel(const plan::Serving& limits, int32_t wrong)
      : FakeModel(limits), wrong(wrong) {}

  Status start(const StepPlan& step) override {
    ++starts;
    return starts == failing ? Status::error("the device has failed")
                             : FakeModel::start(step);
  }
  Status finish(StepResults& results) override {
    const Status status = FakeModel::finish(results);
    for (int32_t& token : results.chosen)
      if (wrong > 0 && token >= 0 && token % wrong == 0)
        token = (token + 1) % int32_t(vocabulary);
    return status;
  }

  int starts = 0;
  int failing = -1; // the step that fails

private:
  int32_t wrong;
};

plan::Serving draftingLimits(int64_t tokens) {
  plan::Serving limits = smallLimits();
  limits.draftTokens = tokens;
  limits.buckets = bucketsOf(limits);
  return limits;
}

/// An engine on a fake model, with a draft model.
struct DraftingServer {
  explicit DraftingServer(const plan::Serving& limits, int32_t wrong = 0,
                          int depth = 1) {
    plan::Serving ofDraft = limits;
    ofDraft.draftTokens = 0;
    ofDraft.buckets = bucketsOf(ofDraft);
    auto fake = std::make_unique<WrongModel>(ofDraft, wrong);
    model = fake.get();
    auto made = std::make_unique<DraftModel>(std::move(fake), ofDraft);
    draft = made.get();
    engine.emplace(std::make_unique<FakeModel>(limits, depth), limits,
                   std::set<int32_t>(), std::move(made));
  }

  RequestId submit(Tokens prompt, int64_t tokens) {
    SamplingOptions sampling;
    sampling.temperature = 0;
    sampling.maxTokens = tokens;
    Expected<RequestId> id =
        engine->submit({.prompt = std::move(prompt), .sampling = sampling});
    EXPECT_TRUE(id) << id.message();
    return id ? *id : -1;
  }
  bool step() {
    Expected<std::vector<Progress>> all = engine->step();
    EXPECT_TRUE(all) << all.message();
    if (!all)
      return false;
    for (const Progress& each : *all)
      for (const SampledToken& token : each.tokens)
        answers[each.request].push_back(token.id);
    return !engine->isIdle();
  }
  void runAll() {
    while (step())
      ;
    EXPECT_EQ(engine->statistics().heldPages, 0);
  }
  const SchedulerStatistics& counts() const {
    return engine->statistics().scheduler;
  }

  WrongModel* model = nullptr;
  DraftModel* draft = nullptr;
  std::optional<Engine> engine;
  std::map<RequestId, Tokens> answers;
};

Tokens prompt(int64_t tokens, int32_t first = 0) {
  Tokens ids(static_cast<size_t>(tokens));
  std::iota(ids.begin(), ids.end(), first);
  for (int32_t& id : ids)
    id %= int32_t(FakeModel::vocabulary);
  return ids;
}

TEST(DraftModel, HasEveryGuessAcceptedAsItsOwnDraft) {
  DraftingServer server(draftingLimits(3));
  const RequestId id = server.submit(prompt(5), 21);
  server.runAll();
  EXPECT_EQ(server.answers[id], FakeModel::answer(prompt(5), 21));
  // A step for the prompt, and five of three guesses and a token.
  EXPECT_EQ(server.counts().steps, 6);
  EXPECT_EQ(server.counts().draftedTokens, 15);
  EXPECT_EQ(server.counts().acceptedTokens, 15);
  // Nothing is computed twice: all tokens but the last guess and what follows.
  EXPECT_EQ(server.draft->computedTokens(), 5 + 21 - 2);
}

TEST(DraftModel, ChangesNoAnswerWhereItIsWrong) {
  DraftingServer server(draftingLimits(4), /*wrong=*/1);
  const RequestId id = server.submit(prompt(5), 20);
  server.runAll();
  EXPECT_EQ(server.answers[id], FakeModel::answer(prompt(5), 20));
  EXPECT_GT(server.counts().draftedTokens, 0);
  EXPECT_EQ(server.counts().acceptedTokens, 0);
}

/// The guesses of one sequence that are right up to the first wrong one.
int64_t acceptedOf(const Tokens& answer, int64_t most, int32_t wrong) {
  int64_t accepted = 0;
  for (size_t done = 1; done < answer.size();) {
    const auto left = int64_t(answer.size() - done);
    const int64_t guesses = std::min(most, left - 1);
    int64_t right = 0;
    while (right < guesses && answer[done + size_t(right)] % wrong != 0)
      ++right;
    accepted += right;
    done += size_t(right) + 1;
  }
  return accepted;
}

TEST(DraftModel, ContinuesBehindWrongGuesses) {
  for (int64_t most : {1, 2, 3, 5})
    for (int32_t wrong : {2, 3, 5}) {
      DraftingServer server(draftingLimits(most), wrong);
      const RequestId id = server.submit(prompt(7), 40);
      server.runAll();
      const Tokens answer = FakeModel::answer(prompt(7), 40);
      EXPECT_EQ(server.answers[id], answer);
      EXPECT_EQ(server.counts().acceptedTokens, acceptedOf(answer, most, wrong))
          << most << " guesses, wrong at multiples of " << wrong;
    }
}

TEST(DraftModel, ReusesThePagesOfACommonPrefix) {
  DraftingServer server(draftingLimits(2));
  server.submit(prompt(20), 3);
  server.runAll();
  const int64_t before = server.draft->computedTokens();
  const RequestId same = server.submit(prompt(20), 3);
  server.runAll();
  EXPECT_EQ(server.answers[same], FakeModel::answer(prompt(20), 3));
  // Of 21 tokens 16 are in the pages that the scheduler shares.
  EXPECT_EQ(server.draft->computedTokens() - before, 5);
  EXPECT_EQ(server.counts().acceptedTokens, server.counts().draftedTokens);
}

TEST(DraftModel, CatchesUpWithLongPromptsInParts) {
  DraftingServer server(draftingLimits(3)); // 16 tokens a step
  const RequestId first = server.submit(prompt(4), 30);
  server.step();
  const RequestId second = server.submit(prompt(50, 9), 10);
  server.runAll();
  EXPECT_EQ(server.answers[first], FakeModel::answer(prompt(4), 30));
  EXPECT_EQ(server.answers[second], FakeModel::answer(prompt(50, 9), 10));
  EXPECT_EQ(server.counts().acceptedTokens, server.counts().draftedTokens);
}

TEST(DraftModel, GivesNoGuessWhereItsLogitsAreNotFinite) {
  DraftingServer server(draftingLimits(3));
  server.model->poison = 9;
  const RequestId bad = server.submit({9, 1, 2}, 6);
  const RequestId good = server.submit({4, 5}, 6);
  server.runAll();
  EXPECT_EQ(server.answers[bad], FakeModel::answer({9, 1, 2}, 6));
  EXPECT_EQ(server.answers[good], FakeModel::answer({4, 5}, 6));
}

TEST(DraftModel, FailsTheStepWhenItsDeviceDoes) {
  DraftingServer server(draftingLimits(3));
  server.model->failing = 2;
  server.submit(prompt(5), 20);
  Expected<std::vector<Progress>> all = server.engine->step();
  EXPECT_TRUE(all) << all.message();
  all = server.engine->step();
  EXPECT_EQ(all.message(), "the device has failed");
  all = server.engine->step();
  EXPECT_EQ(all.message(), "the device has failed");
}

/// Loads with few pages, priorities and cancellations.
void runLoad(uint32_t seed, int32_t wrong) {
  std::mt19937 random(seed);
  auto from = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  plan::Serving limits = draftingLimits(from(1, 6));
  limits.page = from(1, 6);
  limits.pages = plan::pagesOfSequence(limits) + from(0, 20);
  limits.prefixCache = from(0, 3) > 0;
  limits.policy = from(0, 2) > 0 ? plan::ServingPolicy::maxUtilization
                                 : plan::ServingPolicy::guaranteedNoEvict;
  DraftingServer server(limits, wrong, int(from(1, 2)));
  std::vector<std::pair<Tokens, int64_t>> asked;
  std::set<RequestId> cancelled;
  for (int64_t step = 0; step < 40; ++step) {
    if (from(0, 2) == 0) {
      Tokens ids = prompt(from(1, 40), int32_t(from(0, 2)));
      asked.emplace_back(ids, from(1, 20));
      server.submit(asked.back().first, asked.back().second);
    }
    if (!asked.empty() && from(0, 12) == 0) {
      const auto id = RequestId(from(0, int64_t(asked.size()) - 1));
      server.engine->cancel(id);
      cancelled.insert(id);
    }
    server.step();
  }
  server.runAll();
  for (size_t i = 0; i < asked.size(); ++i) {
    const Tokens alone = FakeModel::answer(asked[i].first, asked[i].second);
    const Tokens& answer = server.answers[RequestId(i)];
    EXPECT_TRUE(cancelled.contains(RequestId(i)) || answer == alone)
        << "seed " << seed << ", request " << i;
    ASSERT_LE(answer.size(), alone.size());
    EXPECT_TRUE(std::equal(answer.begin(), answer.end(), alone.begin()));
  }
}

TEST(DraftModel, ChangesNoAnswerUnderLoad) {
  for (uint32_t seed = 0; seed < 200; ++seed)
    runLoad(seed, /*wrong=*/int32_t(seed % 4));
}

/// Preempted sequences give their pages to others, and take others later.
TEST(DraftModel, HasEveryGuessAcceptedAfterPreemptions) {
  plan::Serving limits = draftingLimits(3);
  limits.policy = plan::ServingPolicy::maxUtilization;
  limits.pages = 20; // of 4 tokens; a sequence takes up to 16
  DraftingServer server(limits);
  std::vector<RequestId> ids;
  for (int i = 0; i < 6; ++i)
    ids.push_back(server.submit(prompt(9, i % 3), 30));
  server.runAll();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(server.answers[ids[size_t(i)]],
              FakeModel::answer(prompt(9, i % 3), 30));
  EXPECT_GT(server.counts().preemptions, 0);
  EXPECT_GT(server.counts().draftedTokens, 0);
  EXPECT_EQ(server.counts().acceptedTokens, server.counts().draftedTokens);
}

} // namespace
} // namespace reciperun::serve
