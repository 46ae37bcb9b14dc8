// Regular expressions: the syntax, the anchors, and agreement with PCRE2.

#include "test/runtime/Says.h"
#include "test/runtime/grammar/Walk.h"

#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace reciperun::grammar {
namespace {

/// The same expression in PCRE2, which must match the whole text.
class Reference {
public:
  explicit Reference(const std::string& pattern) {
    const std::string whole = "\\A(?:" + pattern + ")\\z";
    int error = 0;
    PCRE2_SIZE offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(whole.data()),
                         whole.size(), PCRE2_UTF, &error, &offset, nullptr);
    data = pcre2_match_data_create(1, nullptr);
  }
  ~Reference() {
    pcre2_match_data_free(data);
    pcre2_code_free(code);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  bool isValid() const { return code != nullptr; }
  bool takes(const std::string& text) const {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(), 0, 0, data, nullptr) >= 0;
  }

private:
  pcre2_code* code = nullptr;
  pcre2_match_data* data = nullptr;
};

class RandomPattern {
public:
  explicit RandomPattern(unsigned seed) : random(seed) {}

  std::string alternatives(int depth) {
    std::string made = items(depth);
    while (below(4) == 0)
      made += "|" + items(depth);
    return made;
  }
  std::string text() {
    static const char* const parts[] = {"a", "b", "c",  "1",
                                        "-", "é", "日", "_"};
    std::string made;
    for (size_t i = below(7); i > 0; --i)
      made += parts[below(8)];
    return made;
  }

private:
  size_t below(size_t limit) { return random() % limit; }

  std::string items(int depth) {
    std::string made;
    for (size_t i = below(4); i > 0; --i)
      made += atom(depth) + quantifier();
    return made;
  }
  std::string atom(int depth) {
    static const char* const atoms[] = {
        "a",    "b",      "é",   "日",    ".",      "\\d",     "\\w",    "[ab]",
        "[^a]", "[a-c1]", "\\-", "\\x61", "[é-日]", "[\\d_-]", "[^\\w]", "c"};
    if (depth > 0 && below(3) == 0)
      return (below(2) ? "(" : "(?:") + alternatives(depth - 1) + ")";
    return atoms[below(16)];
  }
  std::string quantifier() {
    static const char* const all[] = {"*",     "+",     "?",    "{2}",
                                      "{1,2}", "{0,3}", "{1,}", "*?"};
    return below(3) == 0 ? all[below(8)] : "";
  }

  std::mt19937 random;
};

TEST(Regex, AgreesWithPcre2) {
  int matches = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    RandomPattern random(seed);
    const std::string pattern = random.alternatives(2);
    const Reference reference(pattern);
    ASSERT_TRUE(reference.isValid()) << pattern;
    const Compiled made = regex(pattern);
    ASSERT_EQ(made.refusal, "") << pattern;
    for (int i = 0; i < 60; ++i) {
      const std::string text = random.text();
      const bool expected = reference.takes(text);
      ASSERT_EQ(made.takes(text), expected) << pattern << " and " << text;
      matches += expected;
    }
  }
  EXPECT_GT(matches, 5000); // the comparison is not of refusals alone
}

TEST(Regex, AnchorsMayStandAtTheEnds) {
  for (const char* pattern :
       {"^ab$", "\\Aab\\Z", "^(?:ab)$", "(^ab$)", "(^ab|^cd)$", "^ab$|^cd$"}) {
    const Compiled made = regex(pattern);
    ASSERT_EQ(made.refusal, "") << pattern;
    EXPECT_TRUE(made.takes("ab")) << pattern;
    EXPECT_FALSE(made.takes("abc")) << pattern;
  }
}

TEST(Regex, ReadsEscapes) {
  const Compiled made =
      regex("\\u{1F600}\\uD83D\\uDE00\\x41\\n\\.[\\]\\b]\\(?\\/{a");
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.takes("\U0001F600\U0001F600A\n.]/{a"));
  EXPECT_TRUE(made.takes("\U0001F600\U0001F600A\n.\b(/{a"));
}

TEST(Regex, LargeCountsAreExpanded) {
  const Compiled made = regex("(?:[a-z]{3}-){5000}x");
  ASSERT_EQ(made.refusal, "");
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += "abc-";
  EXPECT_TRUE(made.takes(text + "x"));
  EXPECT_FALSE(made.begins(text + "a"));
}

TEST(Regex, ExponentialMachinesStayNondeterministic) {
  // The deterministic machine has 2^40 states.
  const Compiled made = regex("(a|b)*a(a|b){40}");
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.takes("bba" + std::string(40, 'b')));
  EXPECT_FALSE(made.takes("bbb" + std::string(40, 'b')));
}

TEST(Regex, FailuresNameTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"a(b", "column 2: `(` has no `)`"},
      {"a)b", "column 2: `)` closes no group"},
      {"é[b", "column 2: `[` has no `]`"},
      {"*a", "column 1: a quantifier has nothing to repeat"},
      {"a**", "column 3: a quantifier follows another"},
      {"a*+", "possessive quantifiers are not supported"},
      {"a{3,2}", "at least 3 and at most 2"},
      {"a{,2}", "write `{0,N}`"},
      {"a{100001}", "a repetition of more than 100000"},
      {"(?=a)", "there are no look-aheads; write what is allowed there"},
      {"(?<!a)b", "there are no look-behinds; write what is allowed there"},
      {"(?i)p", "there are no flags; write both cases of a letter, `[Aa]`"},
      {"(?s).", "`[\\s\\S]` is any character"},
      {"(?>a)", "write `(?:` for `(?>`"},
      {"(a)\\1", "back-references are not supported"},
      {"\\bword", "word boundaries are not supported"},
      {"\\p{L}", "Unicode properties are not supported"},
      {"\\q", "the escape `\\q` is not supported"},
      {"[b-a]", "the range ends before it begins"},
      {"[]a]", "an empty class"},
      {"[[:alpha:]]", "named classes"},
      {"a^b", "only at the beginning and the end"},
      {"^*", "an anchor cannot be repeated"},
      {"\\uD83D", "the escape is not a Unicode character"},
      {"\\", "`\\` stands at the end"},
      {"\xC3", "is not UTF-8 at its byte 1"},
  };
  for (const auto& [pattern, message] : cases)
    EXPECT_PRED2(says, regex(pattern).refusal, message) << pattern;
  EXPECT_PRED2(says, regex(std::string(1000, '(')).refusal,
               "nested more than 96 deep");
}

TEST(Choices, AreExactlyTheTexts) {
  const std::string texts[] = {"yes", "yesterday", "日本"};
  const Compiled made = compiled(rulesOfChoices(texts));
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.takes("yes"));
  EXPECT_TRUE(made.takes("yesterday"));
  EXPECT_TRUE(made.takes("日本"));
  EXPECT_FALSE(made.takes("yester"));
  EXPECT_PRED2(says, compiled(rulesOfChoices({})).refusal, "no text to choose");
  const std::string empty[] = {"a", ""};
  EXPECT_PRED2(says, compiled(rulesOfChoices(empty)).refusal,
               "choice 2 is the empty text");
}

} // namespace
} // namespace reciperun::grammar
