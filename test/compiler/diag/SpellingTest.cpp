// What is proposed for a misspelt name.

#include "compiler/diag/Diagnostic.h"

#include <gtest/gtest.h>

using recipec::diag::didYouMean;
using recipec::diag::isSurelyMeant;

namespace {

const std::vector<std::string> names = {"rank", "alpha", "dropout", "steps",
                                        "targets"};

TEST(SpellingTest, FindsOneChange) {
  EXPECT_EQ(didYouMean("rnak", names), "rank");        // transposed
  EXPECT_EQ(didYouMean("alpa", names), "alpha");       // missing
  EXPECT_EQ(didYouMean("droppout", names), "dropout"); // doubled
  EXPECT_EQ(didYouMean("target", names), "targets");
}

TEST(SpellingTest, IgnoresCaseAndSeparators) {
  EXPECT_EQ(didYouMean("Drop_Out", names), "dropout");
  EXPECT_EQ(didYouMean("gib", {"GB", "GiB"}), "GiB");
}

TEST(SpellingTest, PrefersTheSameLength) {
  EXPECT_EQ(didYouMean("stepz", {"step", "steps"}), "steps");
}

TEST(SpellingTest, ProposesNothingFar) {
  EXPECT_EQ(didYouMean("banana", names), std::nullopt);
  EXPECT_EQ(didYouMean("x", {"y"}), std::nullopt);
  EXPECT_EQ(didYouMean("", names), std::nullopt);
  EXPECT_EQ(didYouMean("rank", {}), std::nullopt);
}

TEST(SpellingTest, IsSureOfASmallChangeWithoutAlternative) {
  EXPECT_TRUE(isSurelyMeant("rnak", "rank", names));
  EXPECT_TRUE(isSurelyMeant("Drop_Out", "dropout", names));
  // three letters of a long name
  EXPECT_FALSE(isSurelyMeant("valdetevry", "validate_every", {}));
  EXPECT_FALSE(isSurelyMeant("xp", "tp", {"tp", "cp"}));
  // `std.models.gemma` is near a name so long, but not by two letters
  EXPECT_TRUE(isSurelyMeant("std.models.lama", "std.models.llama",
                            {"std.models.llama", "std.models.gemma"}));
}

} // namespace
