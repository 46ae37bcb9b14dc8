// Finds the setting that a name is meant for, and none where several or none
// fit.

#include "runtime/search/WordIndex.h"

#include <gtest/gtest.h>

namespace reciperun::search {
namespace {

using Texts = std::vector<std::string>;

const std::vector<Document> settings = {
    {"validate_every",
     {"eval_steps", "val_check_interval"},
     "Steps between validations.",
     "train"},
    {"log_every",
     {"logging_steps"},
     "Steps between lines of the log.",
     "train"},
    {"steps", {"max_steps"}, "Optimizer steps.", "train"},
    {"prefix_cache",
     {"enable_prefix_caching"},
     "Whether a prompt reuses the pages of an earlier one.",
     "serve"},
    {"micro", {"micro_batch_size"}, "Sequences of a micro-batch.", "batch"},
    {"keep_last",
     {"save_total_limit"},
     "Last checkpoints that are kept.",
     "checkpoint"},
    {"", {"num_workers", "dataloader_num_workers"}, "", ""},
};

/// The names of the documents that are offered for a name in a section.
Texts offered(std::string_view query, std::string_view place,
              double least = leastOfSettings) {
  Texts names;
  for (const Match& each : WordIndex(settings).find(query, place, least))
    names.push_back(settings[each.document].name);
  return names;
}

TEST(WordIndex, FindsOtherNames) {
  EXPECT_EQ(offered("evals_every_n_steps", "train"), Texts{"validate_every"});
  EXPECT_EQ(offered("numLoggingSteps", "train"), Texts{"log_every"});
}

TEST(WordIndex, FindsDescriptions) {
  EXPECT_EQ(offered("steps_between_validations", "train"),
            Texts{"validate_every"});
}

TEST(WordIndex, FindsInOtherSections) {
  EXPECT_EQ(offered("size_of_micro_batches", "train"), Texts{"micro"});
  EXPECT_EQ(offered("size_of_micro_batches", ""), Texts{"micro"});
}

TEST(WordIndex, FindsOwnNamesWithinLongerOnes) {
  EXPECT_EQ(offered("disable_chunked_prefix_cache", "serve"),
            Texts{"prefix_cache"});
  EXPECT_EQ(offered("disable_chunked_prefix_cache", "train"), Texts());
}

TEST(WordIndex, IgnoresTheNameOfTheSection) {
  EXPECT_EQ(offered("num_last_checkpoints_to_keep", "checkpoint"),
            Texts{"keep_last"});
}

TEST(WordIndex, SplitsCompounds) {
  EXPECT_EQ(offered("microbatch_size", "batch"), Texts{"micro"});
}

TEST(WordIndex, FindsSubjectsWithoutSetting) {
  const auto found =
      WordIndex(settings).find("dataloader_workers", "", leastOfSettings);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].document, 6u);
  EXPECT_EQ(found[0].nearest, "dataloader_num_workers");
}

TEST(WordIndex, OffersNothingForWeakMatches) {
  EXPECT_EQ(offered("zebra", "train"), Texts());
  EXPECT_EQ(offered("zebra_stripe_steps", "train"), Texts());
  EXPECT_EQ(offered("", "train"), Texts());
  EXPECT_EQ(offered("batch", ""), Texts()); // in several names
}

TEST(WordIndex, OffersNothingWhereManyAreAsLikely) {
  std::vector<Document> alike;
  for (const char* place : {"a", "b", "c"})
    alike.push_back({"warmup", {}, "", place});
  EXPECT_TRUE(WordIndex(alike).find("warmup", "", leastOfSettings).empty());
  alike.pop_back();
  EXPECT_EQ(WordIndex(alike).find("warmup", "", leastOfSettings).size(), 2u);
}

} // namespace
} // namespace reciperun::search
