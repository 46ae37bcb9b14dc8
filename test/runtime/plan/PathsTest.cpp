// Paths.h: resolving paths, folders behind links, and a plan written again to
// another folder.

#include "runtime/plan/Paths.h"

#include "runtime/plan/PlanJson.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace reciperun::plan {
namespace {

namespace fs = std::filesystem;

/// A temporary folder, which is the working directory during the test.
class Paths : public testing::Test {
protected:
  Paths()
      : before(fs::current_path()),
        place(fs::canonical(testing::TempDir()) /
              ("paths-" + std::to_string(getpid()))) {
    fs::create_directories(place / "plans/old");
    fs::create_directories(place / "recipes");
    fs::current_path(place);
  }
  ~Paths() override {
    fs::current_path(before);
    fs::remove_all(place);
  }

  fs::path before, place;
};

TEST_F(Paths, leavesWhatLeadsElsewhereAsItIs) {
  EXPECT_EQ(resolvePath("a/b", "c.txt"), "a/b/c.txt");
  EXPECT_EQ(resolvePath("a/b/", "../c"), "a/b/../c");
  EXPECT_EQ(resolvePath(".", "c"), "c");
  EXPECT_EQ(resolvePath("a", "/c"), "/c");
  EXPECT_EQ(resolvePath("a", ""), "");
  EXPECT_EQ(resolvePath("a", "s3://bucket/c"), "s3://bucket/c");
  EXPECT_EQ(resolvePath("a", "b:/c"), "a/b:/c");
  EXPECT_EQ(resolvePath("a", "://c"), "a/://c");
}

TEST_F(Paths, startsAtThePlansOwnFolder) {
  std::ofstream("plans/p.json") << "{}";
  EXPECT_EQ(startOfPaths("plans/p.json", "."), "plans");
  EXPECT_EQ(startOfPaths("plans/p.json", "../recipes"), "recipes");
  EXPECT_EQ(startOfPaths("plans/p.json", ".."), ".");
  EXPECT_EQ(startOfPaths("plans/p.json", "/etc"), "/etc");
  EXPECT_EQ(startOfPaths("plans/p.json", "../.."),
            place.parent_path().string());
  EXPECT_EQ(startOfPaths("/dev/null", "recipes"), "recipes");
  EXPECT_EQ(startOfPaths("s3://bucket/a/p.json", "."), "s3://bucket/a/");
  EXPECT_EQ(startOfPaths("s3://bucket/a/p.json", "../b"), "s3://bucket/b");
  EXPECT_EQ(startOfPaths("s3://bucket/a/p.json", "/etc"), "/etc");
}

TEST_F(Paths, followsLinks) {
  std::ofstream("plans/old/p.json") << "{}";
  fs::create_symlink("old/p.json", "plans/newest.json");
  fs::create_directory_symlink("plans/old", "linked");
  EXPECT_EQ(startOfPaths("plans/newest.json", "../../recipes"), "recipes");
  EXPECT_EQ(startOfPaths("linked/p.json", "../../recipes"), "recipes");
  EXPECT_EQ(wayTo("recipes", "linked"), "../../recipes");
  EXPECT_EQ(wayTo(".", "plans/not/yet/made"), "../../../..");
  EXPECT_EQ(wayTo(".", "nothing/yet"), "../..");
  EXPECT_EQ(wayTo("plans/", "plans"), ".");
}

TEST_F(Paths, comeBackAsTheyWereWritten) {
  Plan plan = samplePlan();
  plan.data.train = DataSource{.kind = "text",
                               .path = {},
                               .prompt = {},
                               .completion = {},
                               .messages = {},
                               .paths = {"a*.txt", "/b"}};
  plan.data.tokenizer = "tokenizer.json";
  plan.train.directory = "runs/x";
  plan.checkpoint.directory = "runs/x/checkpoints";
  plan.checkpoint.resume = "auto";
  plan.exchange.weights = "s3://bucket/model";
  plan.folder = "../recipes";
  const std::string text = toJson(plan);
  std::ofstream("plans/p.json") << text;

  resolvePaths(plan, startOfPaths("plans/p.json", plan.folder));
  EXPECT_EQ(plan.data.train->paths,
            (std::vector<std::string>{"recipes/a*.txt", "/b"}));
  EXPECT_EQ(plan.data.tokenizer, "recipes/tokenizer.json");
  EXPECT_EQ(plan.train.directory, "recipes/runs/x");
  EXPECT_EQ(plan.checkpoint.resume, "auto");
  EXPECT_EQ(plan.exchange.weights, "s3://bucket/model");

  EXPECT_EQ(toJson(writtenTo("plans/p.json", plan)), text);
  Plan moved = writtenTo("recipes/runs/x/plan.json", plan);
  EXPECT_EQ(moved.folder, "../..");
  EXPECT_EQ(moved.train.directory, "runs/x");
}

} // namespace
} // namespace reciperun::plan
