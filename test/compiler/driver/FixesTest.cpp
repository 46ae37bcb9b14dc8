// Which fix-its are applied; the rest of the text must not change.

#include "compiler/driver/Fixes.h"

#include <gtest/gtest.h>

using namespace recipec;
using namespace recipec::driver;
using diag::Applicability;

namespace {

struct FixesTest : testing::Test {
  SourceMap sources;
  diag::Engine engine;
  SourceId file = sources.add("a.recipe", "abc def\n", SourceKind::file);

  void fixIt(SourceId source, uint32_t begin, uint32_t end, std::string text,
             Applicability applicability = Applicability::safe) {
    SourceRange range{source, begin, end};
    engine.report(diag::Kind::UnknownName, range, "message")
        .fixIt(range, std::move(text), applicability);
  }
  std::vector<FixedFile> apply() { return applySafeFixes(engine, sources); }
};

TEST_F(FixesTest, PutsTextsInTheirPlaces) {
  fixIt(file, 4, 7, "d");
  fixIt(file, 0, 1, "xyz");
  std::vector<FixedFile> files = apply();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, "a.recipe");
  EXPECT_EQ(files[0].text, "xyzbc d\n");
  ASSERT_EQ(files[0].changes.size(), 2u);
  EXPECT_EQ(files[0].changes[0], "a.recipe:1:1: `a` -> `xyz`");
  EXPECT_EQ(files[0].changes[1], "a.recipe:1:5: `def` -> `d`");
}

TEST_F(FixesTest, TheFirstOfTwoThatOverlapWins) {
  fixIt(file, 2, 5, "second");
  fixIt(file, 0, 3, "first");
  fixIt(file, 0, 3, "again");
  fixIt(file, 5, 5, "insertion");
  fixIt(file, 5, 5, "twice");
  std::vector<FixedFile> files = apply();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].text, "first dinsertionef\n");
  EXPECT_EQ(files[0].changes.size(), 2u);
}

TEST_F(FixesTest, LeavesAloneWhatIsUnsureOrNotTheUsers) {
  SourceId library =
      sources.add("std/a.recipe", "abc", SourceKind::standardLibrary);
  SourceId argument = sources.add("--set", "abc", SourceKind::commandLine);
  SourceId data = sources.add("a.yaml", "abc", SourceKind::data);
  fixIt(file, 0, 1, "x", Applicability::maybe);
  fixIt(library, 0, 1, "x");
  fixIt(argument, 0, 1, "x");
  fixIt(data, 0, 1, "x");
  engine.report(diag::Kind::UnknownName, {}, "message")
      .fixIt({}, "x", Applicability::safe);
  EXPECT_TRUE(apply().empty());
}

} // namespace
