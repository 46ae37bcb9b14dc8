// The engine on a fake model: how answers end, and that a request which fails
// leaves the others unharmed.

#include "runtime/serve/engine/Engine.h"
#include "FakeModel.h"
#include "runtime/serve/engine/PromptLogits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <malloc.h>
#include <map>
#include <random>
#include <utility>

namespace reciperun::serve {
namespace {

const std::vector<int32_t> hello = {1, 2, 3};

SamplingOptions upTo(int64_t tokens) {
  SamplingOptions options;
  options.maxTokens = tokens;
  return options;
}

SamplingOptions likeliest(int64_t tokens) {
  SamplingOptions options = upTo(tokens);
  options.temperature = 0;
  return options;
}

/// The last progress of each request and all its tokens.
struct Result {
  std::vector<int32_t> tokens;
  std::optional<FinishReason> finished;
  std::string error;
};

struct Fixture {
  explicit Fixture(std::set<int32_t> ends = {},
                   plan::Serving limits = smallLimits(), int depth = 1) {
    auto fake = std::make_unique<FakeModel>(limits, depth);
    model = fake.get();
    engine.emplace(std::move(fake), limits, std::move(ends));
  }

  RequestId submit(std::vector<int32_t> prompt, SamplingOptions options) {
    options.temperature = 0;
    Expected<RequestId> id =
        engine->submit({.prompt = std::move(prompt), .sampling = options});
    EXPECT_TRUE(id) << id.message();
    return id ? *id : -1;
  }
  bool step() {
    Expected<std::vector<Progress>> all = engine->step();
    EXPECT_TRUE(all) << all.message();
    for (const Progress& each : *all) {
      Result& result = results[each.request];
      EXPECT_FALSE(result.finished) << "progress after the end";
      for (const SampledToken& token : each.tokens)
        result.tokens.push_back(token.id);
      result.finished = each.finished;
      result.error = each.error;
    }
    return !engine->isIdle();
  }
  void runAll() {
    while (step())
      ;
  }

  FakeModel* model = nullptr;
  std::optional<Engine> engine;
  std::map<RequestId, Result> results;
};

TEST(Engine, EndsAnAnswerAtItsLimit) {
  Fixture fixture;
  const RequestId id = fixture.submit(hello, upTo(5));
  fixture.runAll();
  EXPECT_EQ(fixture.results[id].tokens, FakeModel::answer(hello, 5));
  EXPECT_EQ(fixture.results[id].finished, FinishReason::tokenLimit);
  EXPECT_EQ(fixture.engine->statistics().finished, 1);
}

TEST(Engine, EndsAnAnswerAtTheLimitsOfThePlan) {
  plan::Serving limits = smallLimits();
  Fixture full({}, limits);
  const RequestId filling = full.submit(hello, upTo(1000));
  full.runAll();
  EXPECT_EQ(full.results[filling].finished, FinishReason::cacheFull);
  EXPECT_EQ(full.results[filling].tokens, FakeModel::answer(hello, 61));

  limits.maxOutput = 7;
  Fixture bounded({}, limits);
  const RequestId id = bounded.submit(hello, upTo(1000));
  bounded.runAll();
  EXPECT_EQ(bounded.results[id].finished, FinishReason::tokenLimit);
  EXPECT_EQ(bounded.results[id].tokens, FakeModel::answer(hello, 7));
}

TEST(Engine, EmbedsPromptsAmongAnswers) {
  Fixture fixture;
  const RequestId answer = fixture.submit({7, 8}, upTo(4));
  std::vector<int32_t> longPrompt;
  for (int32_t i = 0; i < 40; ++i) // more than a step takes
    longPrompt.push_back(i);
  std::map<RequestId, std::vector<int32_t>> prompts;
  for (const auto& prompt : {hello, longPrompt, {7, 8}}) {
    const auto id = fixture.engine->submit({.prompt = prompt, .embeds = true});
    ASSERT_TRUE(id) << id.message();
    prompts[*id] = prompt;
  }
  while (!fixture.engine->isIdle()) {
    const auto all = fixture.engine->step();
    ASSERT_TRUE(all) << all.message();
    for (const Progress& each : *all) {
      if (each.request == answer || !each.finished)
        continue;
      const auto& prompt = prompts.at(each.request);
      EXPECT_TRUE(each.tokens.empty());
      EXPECT_EQ(each.embedding,
                std::vector<float>(
                    {float(FakeModel::after(prompt)), float(prompt.size())}));
      prompts.erase(each.request);
    }
  }
  EXPECT_TRUE(prompts.empty()) << "prompts without an embedding";
}

TEST(Engine, AnEmbeddingThatIsNotFiniteFailsAlone) {
  Fixture fixture;
  fixture.model->poison = 9;
  const auto bad = fixture.engine->submit({.prompt = {9, 1}, .embeds = true});
  const auto good = fixture.engine->submit({.prompt = {1, 2}, .embeds = true});
  ASSERT_TRUE(bad && good);
  fixture.runAll();
  EXPECT_EQ(fixture.results[*bad].finished, FinishReason::failed);
  EXPECT_EQ(fixture.results[*good].finished, FinishReason::endToken);
}

/// The cached tokens of a prompt of 24 tokens by its salt.
TEST(Engine, SaltsKeepCachedPrefixesApart) {
  Fixture fixture;
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 24; ++i)
    prompt.push_back(i);
  const auto cached = [&](const std::string& salt) {
    const auto id = fixture.engine->submit(
        {.prompt = prompt, .sampling = likeliest(3), .cacheSalt = salt});
    EXPECT_TRUE(id) << id.message();
    int64_t tokens = 0;
    std::vector<int32_t> answer;
    while (!fixture.engine->isIdle()) {
      const auto all = fixture.engine->step();
      EXPECT_TRUE(all) << all.message();
      for (const Progress& each : *all) {
        tokens = each.course.cachedTokens;
        for (const SampledToken& token : each.tokens)
          answer.push_back(token.id);
      }
    }
    EXPECT_EQ(answer, FakeModel::answer(prompt, 3));
    return tokens;
  };
  EXPECT_EQ(cached(""), 0);
  EXPECT_GT(cached(""), 0);
  EXPECT_EQ(cached("a"), 0);
  EXPECT_EQ(cached("b"), 0);
  EXPECT_GT(cached("a"), 0);
}

TEST(Engine, EndsAnAnswerBeforeAnEndToken) {
  const std::vector<int32_t> answer = FakeModel::answer(hello, 8);
  const int32_t end = answer[4];
  const size_t first =
      size_t(std::find(answer.begin(), answer.end(), end) - answer.begin());
  Fixture fixture({end});
  const RequestId stops = fixture.submit(hello, upTo(8));
  SamplingOptions ignoring = upTo(8);
  ignoring.ignoreEndTokens = true;
  const RequestId ignores = fixture.submit(hello, ignoring);
  fixture.runAll();
  EXPECT_EQ(fixture.results[stops].finished, FinishReason::endToken);
  EXPECT_EQ(fixture.results[stops].tokens,
            std::vector<int32_t>(answer.begin(), answer.begin() + long(first)));
  EXPECT_EQ(fixture.results[ignores].tokens, answer);

  Fixture plain;
  SamplingOptions stopping = upTo(8);
  stopping.stopTokens = {end};
  const RequestId stopped = plain.submit(hello, stopping);
  plain.runAll();
  EXPECT_EQ(plain.results[stopped].finished, FinishReason::stopToken);
}

TEST(Engine, ReportsACancelledRequestWithTheNextStep) {
  Fixture fixture;
  const RequestId waiting = fixture.submit(hello, upTo(5));
  const RequestId running = fixture.submit({4, 5}, upTo(5));
  fixture.engine->cancel(waiting);
  fixture.step();
  EXPECT_EQ(fixture.results[waiting].finished, FinishReason::cancelled);
  fixture.engine->cancel(running, FinishReason::stopString);
  fixture.engine->cancel(running); // has ended already
  EXPECT_FALSE(fixture.engine->isIdle());
  fixture.step();
  EXPECT_EQ(fixture.results[running].finished, FinishReason::stopString);
  EXPECT_EQ(fixture.results[running].tokens, FakeModel::answer({4, 5}, 1));
  EXPECT_TRUE(fixture.engine->isIdle());
  EXPECT_EQ(fixture.engine->statistics().heldPages, 0);
}

TEST(Engine, AnswersWithSeveralStepsUnderway) {
  Fixture fixture({}, smallLimits(), /*depth=*/2);
  const RequestId first = fixture.submit(hello, upTo(5));
  const RequestId second = fixture.submit({4, 5}, upTo(3));
  const RequestId cancelled = fixture.submit({6, 7}, upTo(3));
  fixture.step();
  fixture.engine->cancel(cancelled);
  fixture.runAll();
  EXPECT_EQ(fixture.results[first].tokens, FakeModel::answer(hello, 5));
  EXPECT_EQ(fixture.results[second].tokens, FakeModel::answer({4, 5}, 3));
  EXPECT_EQ(fixture.results[cancelled].finished, FinishReason::cancelled);
  EXPECT_EQ(fixture.engine->statistics().heldPages, 0);
}

TEST(Engine, FailsOnlyTheRequestWhoseLogitsAreNotFinite) {
  Fixture fixture;
  fixture.model->poison = 9;
  const std::vector<int32_t> bad = {9, 1, 1, 1, 1, 1};
  SamplingOptions scoring = upTo(3);
  scoring.logprobs = 1;
  const RequestId fails = fixture.submit(bad, upTo(3));
  const RequestId scored = fixture.submit(bad, scoring);
  const RequestId works = fixture.submit({4, 5}, upTo(3));
  fixture.runAll();
  for (const auto [id, words] : {std::pair(fails, "logits are not finite; its"),
                                 std::pair(scored, "token 3 is nan")}) {
    EXPECT_EQ(fixture.results[id].finished, FinishReason::failed);
    EXPECT_NE(fixture.results[id].error.find(words), std::string::npos)
        << fixture.results[id].error;
  }
  EXPECT_EQ(fixture.results[works].finished, FinishReason::tokenLimit);
  EXPECT_EQ(fixture.results[works].tokens, FakeModel::answer({4, 5}, 3));
  EXPECT_EQ(fixture.engine->statistics().failed, 2);
  // Its pages are not reused.
  fixture.model->poison = -1;
  fixture.submit(bad, upTo(3));
  fixture.runAll();
  EXPECT_EQ(fixture.engine->statistics().scheduler.reusedTokens, 0);
}

/// An engine whose clock stands still until a test sets it.
struct TimedFixture : Fixture {
  TimedFixture() {
    const plan::Serving limits = smallLimits();
    engine.emplace(std::make_unique<FakeModel>(limits), limits,
                   std::set<int32_t>(), /*drafts=*/nullptr,
                   [this] { return now; });
  }
  RequestId submitFor(double seconds) {
    SamplingOptions options = upTo(40);
    options.timeout = seconds;
    return submit(hello, options);
  }
  void pass(double seconds) {
    now += std::chrono::duration_cast<Engine::Time::duration>(
        std::chrono::duration<double>(seconds));
  }

  Engine::Time now;
};

TEST(Engine, EndsAnAnswerAtItsTimeout) {
  TimedFixture fixture;
  const RequestId late = fixture.submitFor(1), other = fixture.submitFor(100);
  for (int i = 0; i < 5; ++i)
    fixture.step();
  fixture.pass(1);
  fixture.step();
  const Result& result = fixture.results[late];
  EXPECT_EQ(result.finished, FinishReason::timeout);
  EXPECT_EQ(result.tokens, FakeModel::answer(hello, 5));
  fixture.runAll();
  EXPECT_EQ(fixture.results[other].finished, FinishReason::tokenLimit);
}

TEST(Engine, EndsAWaitingRequestAtItsTimeout) {
  TimedFixture fixture;
  const RequestId late = fixture.submitFor(1);
  fixture.pass(2);
  fixture.step();
  EXPECT_EQ(fixture.results[late].finished, FinishReason::timeout);
  EXPECT_TRUE(fixture.results[late].tokens.empty());
  EXPECT_TRUE(fixture.engine->isIdle());
}

/// Bytes of the heap in use. Sanitizers have a heap of their own, of which this
/// is 0.
size_t bytesInUse() {
  return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/// A server runs for months: what it keeps of a request ends with it.
TEST(Engine, KeepsNoMemoryOfRequestsThatHaveEnded) {
  const plan::Serving limits = limitsOfAdapters(2);
  Engine engine(std::make_unique<FakeModel>(limits), limits,
                /*endTokens=*/{});
  const std::vector<std::string> adapters = {"", "a", "b", "c"};
  for (size_t i = 1; i < adapters.size(); ++i)
    ASSERT_TRUE(engine.addAdapter(adapters[i], "folder").isOk());
  std::mt19937 random(1);
  int64_t answered = 0;
  const auto serve = [&](int requests) {
    for (int i = 0; i < requests; ++i) {
      SamplingOptions sampling = upTo(1 + int64_t(random() % 20));
      sampling.temperature = double(random() % 2);
      sampling.logprobs = int(random() % 3) - 1;
      sampling.presencePenalty = double(random() % 2);
      const Expected<RequestId> id =
          engine.submit({.prompt = std::vector<int32_t>(1 + random() % 40,
                                                        int32_t(random() % 50)),
                         .sampling = sampling,
                         .adapter = adapters[random() % adapters.size()]});
      ASSERT_TRUE(id) << id.message();
      if (random() % 8 == 0)
        engine.cancel(*id);
    }
    while (!engine.isIdle())
      ASSERT_TRUE(engine.step());
    answered += requests;
  };
  // Buffers grow to the largest step, and pages of prefixes fill the cache.
  serve(2000);
  const size_t before = bytesInUse();
  for (int round = 0; round < 20; ++round)
    serve(500);
  EXPECT_LE(bytesInUse(), before + 16 * 1024);
  EXPECT_EQ(answered, 12000);
}

TEST(Engine, AnswersWithTheAdapterThatARequestNames) {
  Fixture fixture({}, limitsOfAdapters(1));
  Engine& engine = *fixture.engine;
  ASSERT_TRUE(engine.addAdapter("a", "folder").isOk());
  ASSERT_TRUE(engine.addAdapter("b", "folder").isOk());
  for (const char* adapter : {"", "a", "b", "a"})
    ASSERT_TRUE(engine.submit(
        {.prompt = hello, .sampling = likeliest(4), .adapter = adapter}));
  fixture.runAll();
  const AdapterId adapters[] = {noAdapter, 0, 1, 0};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(fixture.results[RequestId(i)].tokens,
              FakeModel::answer(hello, 4, adapters[i]));
}

TEST(Engine, FreesARemovedAdapterWithItsLastRequest) {
  Fixture fixture({}, limitsOfAdapters(1));
  Engine& engine = *fixture.engine;
  ASSERT_TRUE(engine.addAdapter("a", "folder").isOk());
  ASSERT_TRUE(engine.submit(
      {.prompt = hello, .sampling = likeliest(4), .adapter = "a"}));
  fixture.step();
  ASSERT_TRUE(engine.removeAdapter("a").isOk());
  EXPECT_EQ(fixture.model->adapters().size(), 1u);
  EXPECT_FALSE(engine.submit(
      {.prompt = hello, .sampling = likeliest(4), .adapter = "a"}));
  fixture.runAll();
  EXPECT_EQ(fixture.results[0].tokens, FakeModel::answer(hello, 4, 0));
  EXPECT_TRUE(fixture.model->adapters().empty());
}

TEST(Engine, RefusesAdaptersThatAreNone) {
  Fixture without;
  EXPECT_EQ(without.engine->addAdapter("a", "folder").message(),
            "the plan serves no adapters; compile it again, by `recipec plan "
            "DIR --set serve.adapters=1 -o DIR/generate.plan.json` for the "
            "model's folder DIR");
  Fixture fixture({}, limitsOfAdapters(2));
  Engine& engine = *fixture.engine;
  EXPECT_EQ(engine.addAdapter("a", "absent").message(), "there is no `absent`");
  EXPECT_EQ(engine.checkAdapter("a").message(),
            "there is no adapter `a`; add it with `--adapter NAME=FOLDER`");
  ASSERT_TRUE(engine.addAdapter("a", "folder").isOk());
  EXPECT_EQ(engine.addAdapter("a", "folder").message(),
            "there is an adapter `a` already; give each a name of its own");
  EXPECT_EQ(engine.submit({.prompt = hello, .adapter = "b"}).message(),
            "there is no adapter `b`; those that there are: `a`");
  EXPECT_FALSE(engine.removeAdapter("b").isOk());
}

TEST(Engine, RefusesIdsOutsideTheVocabulary) {
  Fixture fixture;
  EXPECT_EQ(fixture.engine->submit({.prompt = {1, 50}}).message(),
            "token 50 is outside the model's vocabulary of 50");
  EXPECT_EQ(fixture.engine->submit({.prompt = {-1}}).message(),
            "token -1 is outside the model's vocabulary of 50");
  EXPECT_EQ(fixture.engine->submit({.prompt = {}}).message(),
            "the prompt has no token");
  EXPECT_TRUE(fixture.engine->isIdle());
}

TEST(Engine, RefusesSamplingOptionsOutOfTheirRanges) {
  Fixture fixture;
  SamplingOptions sampling;
  sampling.topP = 1.5;
  sampling.stopTokens = {FakeModel::vocabulary};
  const std::string message =
      fixture.engine->submit({.prompt = {1}, .sampling = sampling}).message();
  EXPECT_NE(message.find("`top_p` is 1.5, but must be"), message.npos)
      << message;
  EXPECT_NE(message.find("`stop_token_ids` is 50"), message.npos) << message;
  EXPECT_TRUE(fixture.engine->isIdle());
}

TEST(PromptLogits, GivesARowForEachToken) {
  const plan::Serving limits = smallLimits(); // at most 8 rows a step
  FakeModel model(limits);
  std::vector<int32_t> ids = FakeModel::answer(hello, 30);
  Expected<Logits> logits = promptLogits(model, limits, ids);
  ASSERT_TRUE(logits) << logits.message();
  EXPECT_EQ(logits->tokens, 30);
  EXPECT_EQ(logits->vocab, FakeModel::vocabulary);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t next = FakeModel::after(std::span(ids).first(i + 1));
    EXPECT_EQ(logits->values[i * size_t(logits->vocab) + size_t(next)], 1);
  }
  ids.resize(65, 0);
  EXPECT_EQ(promptLogits(model, limits, ids).message(),
            "the prompt has 65 tokens, the plan takes 64; compile with a "
            "larger `data.sequence`");
}

} // namespace
} // namespace reciperun::serve
