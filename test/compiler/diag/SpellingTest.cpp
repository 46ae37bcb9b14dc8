// Proposals for misspelt names.

#include "compiler/diag/Diagnostic.h"

#include <gtest/gtest.h>

using recipec::diag::didYouMean;
using recipec::diag::isSurelyMeant;

namespace {

const std::vector<std::string> names = {"rank", "alpha", "dropout", "steps",
                                        "targets"};

TEST(SpellingTest, FindsOneChange) {
  EXPECT_EQ(didYouMean("rnak", names), "rank"); // transposed
  EXPECT_EQ(didYouMean("tragets", names), "targets");
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

TEST(SpellingTest, TakesNoTimeForLongNames) {
  // A full edit distance table would have 10^12 entries.
  std::string longName(1'000'000, 'a'), other(1'000'000, 'b');
  EXPECT_EQ(didYouMean(longName, {other}), std::nullopt);
  EXPECT_EQ(didYouMean(longName + "x", {longName + "y"}), longName + "y");
}

TEST(SpellingTest, GivesUpOnAFileOfMisspeltNames) {
  std::vector<std::string> many;
  for (int i = 0; i < 10'000; ++i)
    many.push_back("field" + std::to_string(i));
  recipec::diag::Engine engine;
  auto suggests = [&] {
    return engine.report(recipec::diag::Kind::UnknownKey, {}, "unknown")
        .suggest({}, "fie1d7", many);
  };
  EXPECT_TRUE(suggests());
  int asked = 1;
  while (suggests())
    ASSERT_LT(++asked, 10'000);
}

TEST(SpellingTest, SuggestsNoEditWithoutAPlace) {
  recipec::diag::Engine engine;
  EXPECT_TRUE(engine.report(recipec::diag::Kind::UnknownKey, {}, "unknown")
                  .suggest({}, "rnak", names));
  const recipec::diag::Diagnostic& found = engine.all().front();
  EXPECT_EQ(found.helps, std::vector<std::string>{"did you mean `rank`?"});
  EXPECT_TRUE(found.fixIts.empty());
}

TEST(SpellingTest, IsSureOfASmallChangeWithoutAlternative) {
  EXPECT_TRUE(isSurelyMeant("rnak", "rank", names));
  EXPECT_TRUE(isSurelyMeant("Drop_Out", "dropout", names));
  // three letters of a long name
  EXPECT_FALSE(isSurelyMeant("valdetevry", "validate_every", {}));
  EXPECT_FALSE(isSurelyMeant("xp", "tp", {"tp", "cp"}));
  // `std.models.gemma` is near for a name of this length, but more than two
  // letters differ.
  EXPECT_TRUE(isSurelyMeant("std.models.lama", "std.models.llama",
                            {"std.models.llama", "std.models.gemma"}));
}

} // namespace
