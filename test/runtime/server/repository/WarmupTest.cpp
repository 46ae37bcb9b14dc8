// The order and the outcome of warm-up requests on a model's code.

#include "runtime/server/repository/Warmup.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

/// What instances were asked, as `INSTANCE:SAMPLE*BATCH`.
using Asked = std::vector<std::string>;

class RecordingInstance : public BatchBackend {
public:
  RecordingInstance(std::string name, Asked& asked)
      : name(std::move(name)), asked(asked) {}

  std::vector<Answer>
  execute(std::span<const InferRequest* const> batch) override {
    const std::string& id = batch[0]->id;
    asked.push_back(name + ":" + id + "*" + std::to_string(batch.size()));
    if (id == "throws")
      throw std::runtime_error("memory is short");
    std::vector<Answer> answers(batch.size(), std::vector<Tensor>());
    if (id == "fails")
      answers.back() = Status::error("no luck");
    return answers;
  }

private:
  std::string name;
  Asked& asked;
};

/// Answers at once, with two responses.
class RecordingStream : public StreamBackend {
public:
  explicit RecordingStream(Asked& asked) : asked(asked) {}

  void start(std::shared_ptr<Inference> inference) override {
    const std::string& id = inference->request.id;
    asked.push_back("stream:" + id);
    if (id == "fails")
      return inference->fail(Status::error("no luck"));
    inference->respond({.isLast = false});
    inference->respond({.isLast = true});
  }

private:
  Asked& asked;
};

WarmupSample sample(const std::string& name, size_t batch, size_t runs) {
  WarmupSample made{.name = name, .request = {}, .batch = batch, .runs = runs};
  made.request.id = name;
  return made;
}

/// A version with two instances.
LoadedModel::Version twoInstances(const std::string& name, Asked& asked) {
  LoadedModel::Version version;
  for (const char* each : {"a", "b"})
    version.code.instances.push_back(
        std::make_unique<RecordingInstance>(name + each, asked));
  return version;
}

/// Runs a warm-up whose background work is done at once and in order, and
/// returns its failure. The server stops after `mostWork` pieces of work.
std::optional<std::string> outcomeOf(LoadedModel model,
                                     size_t mostWork = 1'000'000) {
  std::vector<std::function<void()>> posted;
  size_t work = 0;
  std::optional<std::string> outcome;
  warmUp(
      std::move(model),
      [&](const std::function<void()>& run, const std::function<void()>& then) {
        ++work;
        run();
        posted.push_back(then);
      },
      [&] { return work >= mostWork; },
      [&](const Expected<LoadedModel>& loaded) { outcome = loaded.message(); });
  while (!posted.empty())
    std::exchange(posted, {}).front()();
  return outcome;
}

TEST(Warmup, EachInstanceOfEachVersionRunsAllSamples) {
  Asked asked;
  LoadedModel model;
  model.versions.push_back(twoInstances("1", asked));
  model.versions.push_back(twoInstances("2", asked));
  model.warmup = {sample("x", 3, 2), sample("y", 1, 1)};
  EXPECT_EQ(outcomeOf(std::move(model)), "");
  EXPECT_EQ(asked, (Asked{"1a:x*3", "1a:x*3", "1a:y*1", "1b:x*3", "1b:x*3",
                          "1b:y*1", "2a:x*3", "2a:x*3", "2a:y*1", "2b:x*3",
                          "2b:x*3", "2b:y*1"}));
}

TEST(Warmup, TheFirstFailureEndsIt) {
  for (const auto& [name, why] : {std::pair("fails", "no luck"),
                                  std::pair("throws", "memory is short")}) {
    Asked asked;
    LoadedModel model;
    model.versions.push_back(twoInstances("1", asked));
    model.warmup = {sample("x", 1, 1), sample(name, 2, 5)};
    EXPECT_EQ(outcomeOf(std::move(model)), "failed to run warmup sample '" +
                                               std::string(name) + "': " + why);
    EXPECT_EQ(asked.size(), 2u);
  }
}

TEST(Warmup, StreamsAnswerEachRequest) {
  for (const bool fails : {false, true}) {
    Asked asked;
    LoadedModel model;
    model.versions.emplace_back().code.stream =
        std::make_unique<RecordingStream>(asked);
    model.warmup = {sample("x", 2, 2), sample(fails ? "fails" : "y", 2, 1),
                    sample("z", 1, 1)};
    EXPECT_EQ(outcomeOf(std::move(model)),
              fails ? "failed to run warmup sample 'fails': no luck" : "");
    EXPECT_EQ(asked,
              fails ? (Asked{"stream:x", "stream:x", "stream:x", "stream:x",
                             "stream:fails", "stream:fails"})
                    : (Asked{"stream:x", "stream:x", "stream:x", "stream:x",
                             "stream:y", "stream:y", "stream:z"}));
  }
}

TEST(Warmup, WithoutSamplesThereIsNothingToWaitFor) {
  Asked asked;
  LoadedModel model;
  model.versions.push_back(twoInstances("1", asked));
  EXPECT_EQ(outcomeOf(std::move(model)), "");
  EXPECT_TRUE(asked.empty());
}

TEST(Warmup, AServerThatStopsBeginsNoRun) {
  Asked asked;
  LoadedModel model;
  model.versions.push_back(twoInstances("1", asked));
  model.warmup = {sample("x", 1, 5)};
  EXPECT_EQ(outcomeOf(std::move(model), 2), std::nullopt);
  EXPECT_EQ(asked.size(), 2u);
}

} // namespace
} // namespace reciperun::server
