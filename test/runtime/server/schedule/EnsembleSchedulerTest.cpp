// When an ensemble's steps start, and in what order its responses come.

#include "runtime/server/schedule/EnsembleScheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

/// A tensor whose data says what it is.
Tensor tensorOf(const std::string& name, const std::string& data) {
  return {.name = name, .type = DataType::bytes, .shape = {1}, .data = data};
}

/// Starts the requests of steps, which the test answers.
class Steps {
public:
  EnsembleScheduler::Infer infer() {
    return [this](InferRequest request, Inference::Respond respond) {
      auto made =
          std::make_shared<Inference>(std::move(request), std::move(respond));
      started.push_back(made);
      return made;
    };
  }

  std::vector<std::string> models() const {
    std::vector<std::string> names;
    for (const auto& each : started)
      names.push_back(each->request.model);
    return names;
  }

  /// The oldest request to a model that has not ended.
  Inference& to(const std::string& model) const {
    const auto found = std::ranges::find_if(started, [&](const auto& each) {
      return each->request.model == model && !each->hasEnded();
    });
    EXPECT_NE(found, started.end()) << model;
    return **found;
  }

  /// Each answer takes two tokens and writes one.
  void answer(const std::string& model, const std::string& output,
              const std::string& data, bool isLast = true) const {
    InferResponse response;
    response.outputs = {tensorOf(output, data)};
    response.tokens = {.prompt = 2, .answer = 1};
    response.isLast = isLast;
    to(model).respond(std::move(response));
  }

  std::deque<std::shared_ptr<Inference>> started;
};

EnsembleStep stepOf(const std::string& model, const std::string& from,
                    const std::string& to) {
  EnsembleStep step{.model = model};
  step.inputs = {{"IN", from}};
  step.outputs = {{"OUT", to}};
  step.required = {"IN"};
  step.ranks = {{"IN", 1}};
  return step;
}

/// a reads `x` and writes `p`; b and c read `p`; d reads both of their outputs.
EnsembleGraph diamond() {
  EnsembleGraph graph;
  graph.name = "E";
  graph.steps = {stepOf("a", "x", "p"), stepOf("b", "p", "q"),
                 stepOf("c", "p", "r"), stepOf("d", "q", "y")};
  graph.steps[3].inputs["IN2"] = "r";
  graph.steps[3].required.insert("IN2");
  graph.outputs = {"y"};
  return graph;
}

/// generate, which is decoupled, reads `x`; decode reads its tokens.
EnsembleGraph streaming() {
  EnsembleGraph graph;
  graph.name = "E";
  graph.steps = {stepOf("generate", "x", "tokens"),
                 stepOf("decode", "tokens", "text")};
  graph.steps[0].isDecoupled = true;
  graph.steps[1].source = 0;
  graph.outputs = {"text"};
  graph.isDecoupled = true;
  return graph;
}

struct Client {
  std::shared_ptr<Inference> ask(EnsembleScheduler& scheduler) {
    InferRequest request;
    request.inputs = {tensorOf("x", "in")};
    auto made = std::make_shared<Inference>(
        std::move(request), [this](InferResponse response) {
          if (!response.status.isOk())
            failure = response.status.message();
          for (const Tensor& tensor : response.outputs)
            texts.push_back(tensor.data);
          tokens += response.tokens;
          hasEnded = hasEnded || response.isLast;
        });
    scheduler.enqueue(made, 1);
    return made;
  }

  std::vector<std::string> texts;
  TokenCounts tokens;
  std::string failure;
  bool hasEnded = false;
};

using Names = std::vector<std::string>;

struct EnsembleTest : testing::Test {
  EnsembleScheduler& make(EnsembleGraph graph) {
    scheduler = std::make_unique<EnsembleScheduler>(std::move(graph),
                                                    steps.infer(), statistics);
    return *scheduler;
  }

  Steps steps;
  ModelStatistics statistics;
  std::unique_ptr<EnsembleScheduler> scheduler;
  Client client;
};

TEST_F(EnsembleTest, IndependentStepsRunAtTheSameTime) {
  client.ask(make(diamond()));
  EXPECT_EQ(steps.models(), Names({"a"}));
  steps.answer("a", "OUT", "1");
  EXPECT_EQ(steps.models(), Names({"a", "b", "c"}));
  steps.answer("c", "OUT", "3");
  EXPECT_EQ(steps.models().size(), 3u) << "`d` needs both";
  steps.answer("b", "OUT", "2");
  ASSERT_EQ(steps.models(), Names({"a", "b", "c", "d"}));
  const auto& inputs = steps.to("d").request.inputs;
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].data, "2");
  EXPECT_EQ(inputs[1].data, "3");
  steps.answer("d", "OUT", "4");
  EXPECT_EQ(client.texts, Names({"4"}));
  EXPECT_TRUE(client.hasEnded);
}

TEST_F(EnsembleTest, AFailedStepEndsTheOthers) {
  client.ask(make(diamond()));
  steps.answer("a", "OUT", "1");
  Inference& other = steps.to("c");
  steps.to("b").fail(Status::error("no memory"));
  EXPECT_EQ(client.failure, "in ensemble 'E', no memory");
  EXPECT_TRUE(other.isCancelled());
  EXPECT_EQ(steps.models().size(), 3u);
}

TEST_F(EnsembleTest, ACancelledRequestCancelsItsSteps) {
  const auto asked = client.ask(make(diamond()));
  asked->cancel();
  EXPECT_TRUE(steps.started[0]->isCancelled());
  EXPECT_TRUE(client.hasEnded);
}

TEST_F(EnsembleTest, ResponsesOfADecoupledStepKeepTheirOrder) {
  client.ask(make(streaming()));
  steps.answer("generate", "OUT", "1", /*isLast=*/false);
  steps.answer("generate", "OUT", "2", /*isLast=*/false);
  steps.answer("generate", "OUT", "3");
  ASSERT_EQ(steps.models(), Names({"generate", "decode", "decode", "decode"}));
  // The second one is faster than the first.
  InferResponse second;
  second.outputs = {tensorOf("OUT", "two")};
  steps.started[2]->respond(second);
  EXPECT_TRUE(client.texts.empty());
  steps.answer("decode", "OUT", "one");
  EXPECT_EQ(client.texts, Names({"one", "two"}));
  EXPECT_FALSE(client.hasEnded);
  steps.answer("decode", "OUT", "three");
  EXPECT_EQ(client.texts, Names({"one", "two", "three"}));
  EXPECT_TRUE(client.hasEnded);
}

TEST_F(EnsembleTest, TokensOfTheStepsAddUp) {
  client.ask(make(diamond()));
  for (const char* step : {"a", "b", "c", "d"})
    steps.answer(step, "OUT", "1");
  EXPECT_EQ(client.tokens.prompt, 8);
  EXPECT_EQ(client.tokens.answer, 4);
  Client other;
  other.ask(make(streaming()));
  steps.answer("generate", "OUT", "1", /*isLast=*/false);
  EXPECT_EQ(other.tokens.answer, 0);
  steps.answer("decode", "OUT", "one");
  EXPECT_EQ(other.tokens.answer, 2);
}

TEST_F(EnsembleTest, AnEmptyLastResponseEndsTheStream) {
  client.ask(make(streaming()));
  steps.answer("generate", "OUT", "1", /*isLast=*/false);
  InferResponse last;
  last.isEmpty = true;
  steps.to("generate").respond(last);
  EXPECT_FALSE(client.hasEnded);
  steps.answer("decode", "OUT", "one");
  EXPECT_EQ(client.texts, Names({"one"}));
  EXPECT_TRUE(client.hasEnded);
}

TEST_F(EnsembleTest, OnlySoManyFlowsRunAtATime) {
  EnsembleGraph graph = streaming();
  graph.mostInflight = 1;
  client.ask(make(std::move(graph)));
  steps.answer("generate", "OUT", "1", /*isLast=*/false);
  steps.answer("generate", "OUT", "2");
  EXPECT_EQ(steps.models(), Names({"generate", "decode"}));
  steps.answer("decode", "OUT", "one");
  EXPECT_EQ(steps.models(), Names({"generate", "decode", "decode"}));
  steps.answer("decode", "OUT", "two");
  EXPECT_EQ(client.texts, Names({"one", "two"}));
  EXPECT_TRUE(client.hasEnded);
}

TEST_F(EnsembleTest, OptionalInputsMayBeMissing) {
  EnsembleGraph graph = diamond();
  graph.steps[3].required.erase("IN2");
  graph.steps[3].inputs["IN2"] = "nothing";
  client.ask(make(std::move(graph)));
  steps.answer("a", "OUT", "1");
  steps.answer("b", "OUT", "2");
  EXPECT_EQ(steps.to("d").request.inputs.size(), 1u);
}

TEST_F(EnsembleTest, AMissingOutputFails) {
  client.ask(make(diamond()));
  steps.answer("a", "OTHER", "1");
  EXPECT_EQ(client.failure,
            "in ensemble 'E', unexpected deadlock, at least one output is not "
            "set while no more ensemble steps can be made");
}

} // namespace
} // namespace reciperun::server
