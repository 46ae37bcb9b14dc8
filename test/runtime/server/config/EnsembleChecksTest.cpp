// Ensembles by themselves and against the models of their steps.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

#include <map>

namespace reciperun::server {
namespace {

std::string tensor(const std::string& kind, const std::string& name,
                   const std::string& dims = "16",
                   const std::string& type = "TYPE_FP32") {
  return kind + " { name: \"" + name + "\" data_type: " + type + " dims: [" +
         dims + "] }\n";
}

std::string map(const std::string& kind, const std::string& key,
                const std::string& value) {
  return kind + "_map { key: \"" + key + "\" value: \"" + value + "\" }\n";
}

std::string step(const std::string& model, const std::string& maps) {
  return "step {\nmodel_name: \"" + model + "\" model_version: -1\n" + maps +
         "}\n";
}

/// A step of a model with the input `in` and the output `out`.
std::string chain(const std::string& model, const std::string& from,
                  const std::string& to) {
  return step(model, map("input", "in", from) + map("output", "out", to));
}

/// Models of one repository.
class EnsembleChecks : public testing::Test {
protected:
  /// Adds a model; returns why it is invalid by itself.
  std::string add(const std::string& name, const std::string& text) {
    const auto read = parseModelConfig(text, name, "config.pbtxt");
    if (read)
      models[name] = read->config;
    return read.message();
  }

  void addModel(const std::string& name, const std::string& tensors,
                const std::string& more = "max_batch_size: 4\n") {
    EXPECT_EQ(add(name, "backend: \"b\"\n" + more + tensors), "");
  }

  /// Adds the ensemble `e`. Returns its mistake, by itself or with its models.
  std::string ensemble(const std::string& steps, const std::string& tensors,
                       const std::string& more = "max_batch_size: 4\n") {
    const std::string failure =
        add("e", "platform: \"ensemble\"\n" + more + tensors +
                     "ensemble_scheduling {\n" + steps + "}\n");
    if (!failure.empty())
      return failure.substr(0, failure.find(" (config.pbtxt"));
    return checkEnsemble(*models["e"], find).message();
  }

  std::map<std::string, std::shared_ptr<inference::ModelConfig>> models;
  const FindConfig find = [this](const std::string& name, int64_t version) {
    const auto found = models.find(name);
    return found == models.end() || version > 1 ? nullptr : found->second;
  };
  const std::string ends = tensor("input", "x") + tensor("output", "y");
  const std::string whole = chain("a", "x", "t") + chain("a", "t", "y");
};

TEST_F(EnsembleChecks, StepsHaveAllFields) {
  const std::string in = map("input", "in", "x");
  const std::string out = map("output", "out", "y");
  EXPECT_EQ(ensemble("", ends), "must specify 'step' for ensemble 'e'");
  EXPECT_EQ(ensemble(step("", in + out), ends),
            "must specify 'model_name' in step 0 of ensemble 'e'");
  EXPECT_EQ(ensemble(step("a", out), ends),
            "must specify 'input_map' in step 0 of ensemble 'e'");
  EXPECT_EQ(ensemble(chain("a", "x", "t") + step("a", in), ends),
            "must specify 'output_map' in step 1 of ensemble 'e'");
}

TEST_F(EnsembleChecks, FieldsOfEnsemblesAndOfOtherModels) {
  EXPECT_EQ(add("e", "platform: \"ensemble\""),
            "ensemble scheduling must be set for ensemble e whose platform is "
            "ensemble (config.pbtxt:1:1: `platform`)");
  EXPECT_EQ(add("m", "backend: \"b\" ensemble_scheduling {}"),
            "ensemble scheduling cannot be set for model 'm' whose platform is "
            "not ensemble (config.pbtxt:1:14: `ensemble_scheduling`)");
  EXPECT_EQ(ensemble(whole, ends, "backend: \"b\"\n"),
            "Ensemble model 'e' must have platform type 'ensemble' and empty "
            "backend type");
  EXPECT_EQ(ensemble(whole, ends, "instance_group {}\n"),
            "instance group should not be specified for ensemble 'e'");
  EXPECT_EQ(ensemble(whole, ends, "optimization {}\n"),
            "optimization should not be specified for ensemble 'e'");
  EXPECT_EQ(ensemble(whole, ends, "model_warmup {}\n"),
            "model_warmup can not be specified for ensemble 'e'");
}

TEST_F(EnsembleChecks, TensorsAreWrittenOnceAndAllUsed) {
  EXPECT_EQ(ensemble(chain("a", "x", "y") + chain("a", "x", "y"), ends),
            "ensemble tensor 'y' can appear in an output map only once for "
            "ensemble 'e' step 1");
  EXPECT_EQ(ensemble(chain("a", "x", "x"), ends),
            "ensemble tensor 'x' can appear in an output map only once for "
            "ensemble 'e' step 0");
  // The stray quotes are Triton's.
  EXPECT_EQ(ensemble(whole, ends + tensor("input", "z")),
            "ensemble input 'z' for ensemble e' is not used");
  EXPECT_EQ(ensemble(whole, ends + tensor("output", "z")),
            "ensemble output 'z' for ensemble e' is not used");
  EXPECT_EQ(ensemble(whole + chain("a", "x", "z"), ends),
            "ensemble tensor 'z' is unused in ensemble 'e'");
  EXPECT_EQ(ensemble(whole + chain("a", "v", "w"), ends),
            "ensemble tensor 'v' is unused in ensemble 'e'");
  EXPECT_EQ(ensemble(chain("a", "v", "y") + chain("a", "x", "z"), ends),
            "output 'y' for ensemble 'e' is not written: at least one of its "
            "depending tensors, 'v', is not connected");
  EXPECT_EQ(ensemble(chain("a", "x", "z"), ends),
            "ensemble output 'y' for ensemble e' is not used");
  EXPECT_EQ(ensemble(chain("a", "x", "z") + chain("a", "y", "v"), ends),
            "output 'y' for ensemble 'e' is not written");
}

TEST_F(EnsembleChecks, StepsInACycleAreNotReady) {
  const std::string both = map("input", "in", "x") + map("input", "more", "u");
  EXPECT_EQ(ensemble(step("a", both + map("output", "out", "t")) +
                         chain("a", "t", "u") + chain("a", "t", "y"),
                     ends),
            "output 'y' for ensemble 'e' is not written: at least one of its "
            "depending tensors, 'u', is not connected");
}

TEST_F(EnsembleChecks, ModelsHaveTheTensorsOfTheMaps) {
  const std::string two = tensor("input", "in") + tensor("output", "out");
  EXPECT_EQ(ensemble(whole, ends),
            "ensemble 'e' depends on 'a' which has no loaded version.");
  addModel("a", two);
  EXPECT_EQ(ensemble(whole, ends), "");
  const std::string versioned = "step { model_name: \"a\" model_version: 2\n" +
                                map("input", "in", "x") +
                                map("output", "out", "y") + "}\n";
  EXPECT_EQ(ensemble(versioned, ends),
            "ensemble 'e' depends on 'a' whose required version 2 is not "
            "loaded.");
  EXPECT_EQ(
      ensemble(step("a", map("input", "in", "x") + map("input", "more", "x") +
                             map("output", "out", "y")),
               ends),
      "in ensemble e, ensemble tensor x is mapping to non-existing input "
      "more in model a");
  EXPECT_EQ(
      ensemble(step("a", map("input", "in", "x") + map("output", "other", "y")),
               ends),
      "in ensemble e, ensemble tensor y is mapped from non-existing "
      "output other in model a");
  addModel("a", two + tensor("input", "second"));
  EXPECT_EQ(ensemble(whole, ends),
            "in ensemble e, input second in model a is not mapped to any "
            "ensemble tensors");
  addModel("a", two + "input { name: \"second\" data_type: TYPE_FP32 dims: 1 "
                      "optional: true }\n");
  EXPECT_EQ(ensemble(whole, ends), "");
}

TEST_F(EnsembleChecks, BatchSizes) {
  const std::string two = tensor("input", "in") + tensor("output", "out");
  addModel("a", two);
  EXPECT_EQ(ensemble(whole, ends, "max_batch_size: 8\n"),
            "ensemble e allows maximum batch size 8, but it contains model a "
            "which only allows maximum batch size to be 4");
  addModel("a",
           tensor("input", "in", "-1,16") + tensor("output", "out", "-1,16"),
           "");
  EXPECT_EQ(ensemble(whole, ends, "max_batch_size: 8\n"), "");
}

TEST_F(EnsembleChecks, TypesAndShapesAgreeAtBothEnds) {
  addModel("a", tensor("input", "in") + tensor("output", "out"));
  addModel("b", tensor("input", "in", "16,16,16") + tensor("output", "out"));
  EXPECT_EQ(ensemble(chain("a", "x", "t") + chain("b", "t", "y"), ends),
            "in ensemble e, ensemble tensor t: inconsistent shape: [-1,16] is "
            "inferred from model a while [-1,16,16,16] is inferred from model "
            "b");
  addModel("c",
           tensor("input", "in", "16", "TYPE_INT32") + tensor("output", "out"));
  EXPECT_EQ(ensemble(chain("c", "x", "t") + chain("a", "t", "y"), ends),
            "in ensemble e, ensemble tensor x: inconsistent data type: "
            "TYPE_FP32 is inferred from model e while TYPE_INT32 is inferred "
            "from model c");
  addModel("d", tensor("input", "in", "-1") + tensor("output", "out", "-1"));
  EXPECT_EQ(ensemble(chain("d", "x", "t") + chain("a", "t", "y"), ends), "");
  // Steps get what the ensemble has reshaped.
  EXPECT_EQ(ensemble(whole, "input { name: \"x\" data_type: TYPE_FP32 dims: "
                            "[4, 4] reshape { shape: 16 } }\n" +
                                tensor("output", "y")),
            "");
}

TEST_F(EnsembleChecks, StepsReadFromOneDecoupledModel) {
  const std::string two = tensor("input", "in") + tensor("output", "out");
  const std::string decoupled =
      "max_batch_size: 4\nmodel_transaction_policy { decoupled: true }\n";
  addModel("r", two, decoupled);
  addModel("s", two, decoupled);
  addModel("two", tensor("input", "a") + tensor("input", "b") +
                      tensor("output", "out"));
  const auto join = [](const std::string& a, const std::string& b) {
    return step("two", map("input", "a", a) + map("input", "b", b) +
                           map("output", "out", "y"));
  };
  const std::string failure =
      "in ensemble e, step of model 'two' receives inputs originated from "
      "different decoupled models";
  EXPECT_EQ(
      ensemble(chain("r", "x", "t") + chain("s", "x", "u") + join("t", "u"),
               ends),
      failure);
  // The second one responds to each response of the first.
  EXPECT_EQ(
      ensemble(chain("r", "x", "t") + chain("s", "t", "u") + join("t", "u"),
               ends),
      failure);
  EXPECT_EQ(ensemble(chain("r", "x", "t") + join("x", "t"), ends), "");
  EXPECT_EQ(ensemble(chain("r", "x", "y") + chain("s", "x", "z"),
                     ends + tensor("output", "z")),
            "in ensemble e, step of model 'e' receives inputs originated from "
            "different decoupled models");
}

TEST_F(EnsembleChecks, EnsemblesDoNotContainEachOther) {
  const auto addEnsemble = [&](const std::string& name,
                               const std::string& model) {
    EXPECT_EQ(add(name, "platform: \"ensemble\"\n" + ends +
                            "ensemble_scheduling {\n" + chain(model, "x", "y") +
                            "}\n"),
              "");
  };
  addEnsemble("p", "q");
  addEnsemble("q", "r");
  addEnsemble("r", "p");
  EXPECT_EQ(checkCircularEnsembles(*models["p"], find).message(),
            "circular dependency between ensembles: p -> ... -> r -> p");
  addEnsemble("s", "s");
  EXPECT_EQ(checkCircularEnsembles(*models["s"], find).message(),
            "circular dependency between ensembles: s -> ... -> s -> s");
  addEnsemble("r", "a");
  EXPECT_TRUE(checkCircularEnsembles(*models["p"], find).isOk());
}

TEST_F(EnsembleChecks, LargeMapsAreCheckedInTime) {
  // The edges between all inputs and outputs of a step would be 10^8.
  std::string maps;
  for (int i = 0; i < 10'000; ++i)
    maps += map("input", "i" + std::to_string(i), "x") +
            map("output", "o" + std::to_string(i), "t" + std::to_string(i));
  EXPECT_EQ(ensemble(step("a", maps) + chain("a", "t0", "y"), ends),
            "ensemble tensor 't1' is unused in ensemble 'e'");
}

} // namespace
} // namespace reciperun::server
