// Which plan of a run the restarts take.

#include "runtime/train/Layouts.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace reciperun::train {
namespace {

class LayoutsTest : public testing::Test {
protected:
  LayoutsTest() {
    for (const int ranks : {2, 8, 4}) {
      Layout layout{std::to_string(ranks) + ".json", {}};
      layout.plan.mesh.ranks = ranks;
      layout.plan.train.globalBatch = 16;
      layouts.push_back(layout);
    }
  }

  /// The ranks of the plan for a host file of this text; 0: none.
  int ranksFor(const std::string& text) {
    std::ofstream(file) << text;
    const auto chosen = widestLayout(layouts, file.string());
    return chosen ? (*chosen)->plan.mesh.ranks : 0;
  }

  const checkpoint::TestFolder folder;
  const std::filesystem::path file = folder / "hosts";
  std::vector<Layout> layouts;
};

TEST_F(LayoutsTest, takesTheWidestThatFits) {
  ASSERT_TRUE(orderLayouts(layouts).isOk());
  EXPECT_EQ(ranksFor("a slots=4\nb slots=4\n"), 8);
  EXPECT_EQ(ranksFor("a slots=4\nb slots=3\n"), 4);
  EXPECT_EQ(ranksFor("a slots=3\n"), 2);
  EXPECT_EQ(ranksFor("a slots=1\n"), 0);
  EXPECT_EQ(ranksFor("# none is left\n"), 0);
  EXPECT_EQ(ranksFor("a\n"), 8);
  EXPECT_EQ((*widestLayout(layouts, ""))->path, "8.json");
}

TEST_F(LayoutsTest, hostsThatDoNotAnswerHaveNoSlots) {
  ASSERT_TRUE(orderLayouts(layouts).isOk());
  std::ofstream(file) << "a slots=4\nb slots=2\nc slots=2\n";
  EXPECT_EQ((*widestLayout(layouts, file.string(), {"b"}))->path, "4.json");
  const auto none = widestLayout(layouts, file.string(), {"a", "b", "c"});
  EXPECT_EQ(none.message(),
            "`" + file.string() +
                "` gives 0 slots, as `a`, `b` and `c` do not answer, and "
                "`2.json` has 2 ranks; add hosts, or a plan with fewer ranks");
  // One plan alone needs the slots, too.
  layouts.resize(1);
  EXPECT_FALSE(widestLayout(layouts, file.string(), {"b"}));
}

TEST_F(LayoutsTest, areOfOneRun) {
  layouts[0].plan.train.globalBatch = 8;
  EXPECT_EQ(orderLayouts(layouts).message(),
            "`8.json` and `2.json` are no two layouts of one run: "
            "`batch.global` is `16` and `8`; compile them from one recipe that "
            "sets `train.dir`, with other `cluster.ranks`");
  ASSERT_EQ(layouts.back().path, "2.json"); // in order now
  layouts.back().plan.train.globalBatch = 16;
  layouts.back().plan.mesh.ranks = 4;
  EXPECT_EQ(orderLayouts(layouts).message(),
            "`4.json` and `2.json` are no two layouts of one run: "
            "`cluster.ranks` is 4 in both; leave one out");
}

} // namespace
} // namespace reciperun::train
