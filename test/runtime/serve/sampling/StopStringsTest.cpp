// Stop strings in texts that are cut at every position.

#include "runtime/serve/sampling/StopStrings.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

struct Emitted {
  std::string text;
  std::optional<size_t> match;
};

bool operator==(const Emitted& a, const Emitted& b) {
  return a.text == b.text && a.match == b.match;
}

std::ostream& operator<<(std::ostream& out, const Emitted& emitted) {
  return out << "`" << emitted.text << "` "
             << (emitted.match ? int(*emitted.match) : -1);
}

Emitted emit(const std::vector<std::string>& stops,
             const std::vector<std::string>& pieces) {
  StopStrings strings(stops);
  Emitted result;
  for (const std::string& piece : pieces)
    result.text += strings.next(piece);
  result.text += strings.finish();
  result.match = strings.match();
  return result;
}

/// All ways to cut a text of at most 12 bytes.
void expectForAllCuts(const std::vector<std::string>& stops,
                      const std::string& text, const Emitted& expected) {
  for (uint32_t cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
    std::vector<std::string> pieces(1);
    for (size_t i = 0; i < text.size(); ++i) {
      pieces.back() += text[i];
      if (i + 1 < text.size() && cuts >> i & 1)
        pieces.emplace_back();
    }
    ASSERT_EQ(emit(stops, pieces), expected) << text << " cut by " << cuts;
  }
}

TEST(StopStrings, AreFoundAcrossAllCuts) {
  expectForAllCuts({"END"}, "one ENDtwo", {"one ", 0});
  expectForAllCuts({"END"}, "one EN two", {"one EN two", {}});
  expectForAllCuts({"END"}, "EENENDEND", {"EEN", 0});
  expectForAllCuts({"aab"}, "xaaab", {"xa", 0});
  expectForAllCuts({"\n\n", "###"}, "a\nb##\n\nc", {"a\nb##", 0});
  expectForAllCuts({}, "any text", {"any text", {}});
}

TEST(StopStrings, CanBeKept) {
  StopStrings strings({"END"}, /*keepsStop=*/true);
  EXPECT_EQ(strings.next("one E"), "one ");
  EXPECT_EQ(strings.next("NDtwo"), "END");
  EXPECT_EQ(strings.match(), 0u);
  EXPECT_EQ(strings.finish(), "");
}

TEST(StopStrings, TheFirstToBeCompleteEndsTheText) {
  expectForAllCuts({"abcd", "bc"}, "xabcdy", {"xa", 1});
  expectForAllCuts({"bc", "abc"}, "xabcy", {"x", 1});
  expectForAllCuts({"c", "ab"}, "xabcy", {"x", 1});
}

TEST(StopStrings, HoldBackOnlyWhatMayBecomeOne) {
  StopStrings strings({"STOP"});
  EXPECT_EQ(strings.next("a"), "a");
  EXPECT_EQ(strings.next("bS"), "b");
  EXPECT_EQ(strings.next("T"), "");
  EXPECT_EQ(strings.next("S"), "ST");
  EXPECT_EQ(strings.next("x"), "Sx");
  EXPECT_EQ(strings.next("STO"), "");
  EXPECT_EQ(strings.next("P and more"), "");
  EXPECT_EQ(strings.match(), size_t(0));
  EXPECT_EQ(strings.next("more"), "");
  EXPECT_EQ(strings.finish(), "");
}

TEST(StopStrings, DoNotEndInAClosedPiece) {
  StopStrings strings({"ab"});
  EXPECT_EQ(strings.next("xab", /*isOpen=*/false), "xab");
  EXPECT_EQ(strings.next("aba", /*isOpen=*/false), "ab");
  EXPECT_EQ(strings.next("bc"), ""); // begins in the closed piece
  EXPECT_EQ(strings.match(), size_t(0));
}

} // namespace
} // namespace reciperun::serve
