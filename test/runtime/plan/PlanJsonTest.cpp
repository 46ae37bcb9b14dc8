// Plans as JSON: a written plan reads back, and damage is reported with its
// location.

#include "runtime/plan/PlanJson.h"

#include "runtime/ops/OpKind.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace reciperun::plan {
namespace {

std::string replaced(std::string text, const std::string& from,
                     const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PlanJson, readsBackWhatItWrote) {
  Plan written = samplePlan();
  written.stages[0].functions[0].ops[2].attributes = {
      {"axes", std::vector<std::string>{"dp", ""}}, {"seed", int64_t(7)}};
  std::string text = toJson(written);
  Expected<Plan> plan = fromJson(text);
  ASSERT_TRUE(plan) << plan.message();
  EXPECT_EQ(toJson(*plan), text);
  EXPECT_EQ(plan->name, samplePlan().name);
  const Op& linear = plan->stages[0].functions[0].ops[0];
  EXPECT_EQ(linear.kind, OpKind::Linear);
  EXPECT_EQ(linear.attributes.real("alpha"), 0.5);
  EXPECT_EQ(linear.attributes.flag("accumulate", true), false);
  const Op& zero = plan->stages[0].functions[0].ops[2];
  EXPECT_EQ(zero.attributes.integer("seed"), 7);
  EXPECT_EQ(zero.attributes.strings("axes"),
            (std::vector<std::string>{"dp", ""}));
  EXPECT_EQ(zero.attributes.string("missing"), "");
  EXPECT_FALSE(plan->data.valid);
  EXPECT_EQ(plan->data.train->completion, "a");
}

TEST(PlanJson, keepsDoublesToTheLastBit) {
  Plan plan = samplePlan();
  plan.prediction.stepSeconds = 0.1 + 0.2;
  plan.train.learningRate.peak = 5e-324;
  Expected<Plan> read = fromJson(toJson(plan));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->prediction.stepSeconds, 0.1 + 0.2);
  EXPECT_EQ(read->train.learningRate.peak, 5e-324);
}

TEST(PlanJson, keepsTheSourcesOfABlend) {
  Plan plan = samplePlan();
  DataSource blend;
  blend.kind = "blend";
  blend.sources = {*plan.data.train,
                   {"text", "", "", "", "", {"a.txt", "b"}, "<|>"}};
  blend.weights = {0.1, 2};
  blend.epochs = {0, 1.5};
  blend.stopping = "first_exhausted";
  plan.data.train = blend;
  plan.data.specialTokens = true;
  Expected<Plan> read = fromJson(toJson(plan));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(*read->data.train, blend);
  EXPECT_TRUE(read->data.specialTokens);
}

TEST(PlanJson, replacesBytesThatAreNoUtf8) {
  Plan plan = samplePlan();
  plan.name = "a\xff";
  Expected<Plan> read = fromJson(toJson(plan));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->name, "a\xef\xbf\xbd");
}

TEST(PlanJson, refusesOtherVersionsByNamingBoth) {
  std::string text = toJson(samplePlan());
  for (auto [from, to, version] :
       {std::tuple{"\"minor\":1", "\"minor\":2", "1.2"},
        std::tuple{"\"major\":1", "\"major\":2", "2.1"},
        std::tuple{"\"major\":1", "\"major\":0", "0.1"}}) {
    // A newer version may have fields that this one does not know.
    std::string newer =
        replaced(replaced(text, from, to), "\"task\"", "\"mission\"");
    Expected<Plan> plan = fromJson(newer);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.message().find(std::string("has version ") + version),
              std::string::npos)
        << plan.message();
    EXPECT_NE(plan.message().find("reads version 1.1"), std::string::npos)
        << plan.message();
  }
}

/// The sample plan with a table of connections.
Plan connectedPlan() {
  Plan plan = samplePlan();
  plan.connections = {
      4,
      true,
      1 << 20,
      {{Transport::nccl, false, {"dp", "tp"}, {}, {1}, {}, 64, 2, {7}},
       {Transport::peerCopies,
        true,
        {"tp"},
        {0},
        {0},
        {Traffic::collective, Traffic::shift, Traffic::exchange},
        64,
        0,
        {0}}},
      {{3, 0, 1, 8, 5, 6}}};
  return plan;
}

TEST(PlanJson, keepsConnections) {
  const std::string text = toJson(connectedPlan());
  const Expected<Plan> plan = fromJson(text);
  ASSERT_TRUE(plan) << plan.message();
  EXPECT_EQ(toJson(*plan), text);
  EXPECT_NE(text.find("{\"transport\":\"peer_copies\",\"overlaps\":true,"
                      "\"axes\":[\"tp\"],\"stages\":[0],\"groups\":[0],"
                      "\"traffic\":[\"collective\",\"shift\",\"exchange\"],"
                      "\"largest\":64,\"width\":0,\"bytes\":[0]}"),
            std::string::npos)
      << text;
}

TEST(PlanJson, tellsThePlaceOfDamage) {
  std::string text = toJson(samplePlan());
  auto message = [](const std::string& damaged) {
    Expected<Plan> plan = fromJson(damaged);
    const std::string text = plan ? "accepted" : plan.message();
    return text.substr(0, text.find("; compile the recipe again"));
  };
  EXPECT_EQ(message(replaced(text, "\"task\":\"sft\"", "\"task\":7")),
            "the plan is damaged: `task` should be a string and is an integer");
  EXPECT_EQ(message(replaced(text, "\"offset\":0", "\"offset\":0.5")),
            "the plan is damaged: `stages[0].buffers[0].offset` should be an "
            "integer of 64 bits and is a fraction");
  EXPECT_EQ(message(replaced(text, "\"op\":\"linear\"", "\"op\":\"liner\"")),
            "the plan is damaged: `stages[0].functions[0].ops[0].op` is "
            "`liner`, which is no op");
  EXPECT_EQ(message(replaced(text, "\"pack\":false,", "")),
            "the plan is damaged: `data` lacks `pack`");
  EXPECT_EQ(message(replaced(toJson(connectedPlan()), "\"peer_copies\"",
                             "\"pigeons\"")),
            "the plan is damaged: `connections.groups[1].transport` is "
            "`pigeons`, which is no transport");
  EXPECT_EQ(message(replaced(text, "\"pack\":", "\"park\":1,\"pack\":")),
            "the plan is damaged: `data` has the unknown field `park`");
  EXPECT_EQ(
      message(replaced(text, "\"seed\":0", "\"seed\":4294967296000000000000")),
      "the plan is damaged: `data.seed` should be an integer of 64 bits "
      "and is a fraction");
  EXPECT_EQ(message(replaced(text, "\"task\":", "\"task\"")),
            "the plan is damaged: line 5, column 6: `\"` inside a text is "
            "written `\\\"`");
  EXPECT_EQ(message("[1]"), "a plan is a JSON object, this is a list; "
                            "`recipec plan FILE -o plan.json` writes one");
  EXPECT_EQ(message("{}"),
            "this is no plan: it has no version; `recipec plan FILE -o "
            "plan.json` writes one");
  EXPECT_EQ(message(std::string(200000, '[')),
            "the plan is damaged: line 1, column 129: lists and objects are "
            "nested more than 128 deep");
}

TEST(PlanJson, refusesEveryTruncation) {
  std::string text = toJson(samplePlan());
  for (size_t length = 0; length + 2 < text.size(); ++length) {
    Expected<Plan> plan = fromJson(std::string_view(text).substr(0, length));
    ASSERT_FALSE(plan) << length;
    ASSERT_EQ(plan.message().find("json.exception"), std::string::npos);
    ASSERT_NE(plan.message().find("damaged"), std::string::npos)
        << length << ": " << plan.message();
  }
}

TEST(PlanJson, survivesEveryFlippedByte) {
  const std::string text = toJson(samplePlan());
  for (size_t at = 0; at < text.size(); ++at)
    for (unsigned char bit : {0x01, 0x04, 0x80}) {
      std::string damaged = text;
      damaged[at] = char(damaged[at] ^ bit);
      // Accepted or refused, never worse; and what is accepted validates or
      // is refused then.
      if (Expected<Plan> plan = fromJson(damaged))
        (void)validate(*plan).isOk();
      else
        ASSERT_FALSE(plan.message().empty());
    }
}

TEST(PlanJson, namesAFileThatCannotBeRead) {
  EXPECT_EQ(readPlan("no/such/plan.json").message(),
            "cannot read `no/such/plan.json`: No such file or directory");
  EXPECT_EQ(readPlan("/").message(),
            "cannot read `/`: it is a folder, not a regular file");
  std::string path = testing::TempDir() + "PlanJsonTest.json";
  std::ofstream(path) << toJson(samplePlan());
  Expected<Plan> plan = readPlan(path);
  EXPECT_TRUE(plan) << plan.message();
  std::string changed = toJson(samplePlan());
  changed.insert(changed.find("\"device\""), " ");
  std::ofstream(path, std::ios::trunc) << changed;
  EXPECT_EQ(
      readPlan(path).message(),
      "`" + path +
          "`: the plan has been changed since `recipec` wrote it: its "
          "`hash` is that of another text; compile the recipe again, with "
          "`--set` for what should be different");
  std::string without = toJson(samplePlan());
  without.erase(without.rfind(",\n\"hash\""));
  std::ofstream(path, std::ios::trunc) << without << "\n}\n";
  EXPECT_EQ(readPlan(path).message(),
            "`" + path +
                "`: the plan has no hash of what `recipec` wrote; compile the "
                "recipe again");
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(readPlan(path).message(),
            "`" + path +
                "`: the plan is damaged: the plan is empty; compile the "
                "recipe again");
  std::remove(path.c_str());
}

} // namespace
} // namespace reciperun::plan
