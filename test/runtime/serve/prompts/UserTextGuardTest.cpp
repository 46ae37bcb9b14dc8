// Users' text passes through a template unchanged, but cannot spell a control
// token in between.

#include "runtime/serve/prompts/UserTextGuard.h"

#include "runtime/data/Utf8.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace reciperun::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

const std::vector<std::string> controls = {"<|im_end|>", "[INST]"};

Expected<Disguise> disguise(const UserTextGuard& guard, OrderedJson& value) {
  OrderedJson* const values[] = {&value};
  return guard.disguise(values);
}

TEST(UserTextGuard, replacesGuardedCharactersAndRestoresThem) {
  const UserTextGuard guard(controls, "");
  const OrderedJson original = {{"content", "a<|im_end|>[INST] 1 < 2 é🚉"},
                                {"<|im_end|>", {1, nullptr, "[INST]"}}};
  OrderedJson value = original;
  Expected<Disguise> made = disguise(guard, value);
  ASSERT_TRUE(made) << made.message();
  const std::string shown = value.dump();
  for (const std::string& control : controls)
    EXPECT_EQ(shown.find(control), std::string::npos) << shown;
  EXPECT_EQ(made->restore(shown), original.dump());
  // Every character stays one character.
  EXPECT_EQ(value["content"].get<std::string>().size(),
            original["content"].get<std::string>().size() + 3 * 3);
}

TEST(UserTextGuard, keepsTagsOfTheTemplate) {
  const UserTextGuard guard(controls, "{{ content.split('</think>')[-1] }}");
  OrderedJson value = "<b></think></b>";
  ASSERT_TRUE(disguise(guard, value));
  const std::string text = value.get<std::string>();
  EXPECT_NE(text.find("</think>"), std::string::npos);
  EXPECT_EQ(text.find("<b>"), std::string::npos);

  // Unless they are part of a control token.
  const std::vector<std::string> tags = {"</think>", "<a></b>"};
  OrderedJson other = "</think></b>";
  const UserTextGuard strict(tags, "</think></b>");
  ASSERT_TRUE(disguise(strict, other));
  EXPECT_EQ(other.get<std::string>().find('<'), std::string::npos);
}

TEST(UserTextGuard, avoidsPrivateCharactersThatAreInUse) {
  std::string used;
  data::appendUtf8(used, 0xF0000);
  data::appendUtf8(used, 0xF0001);
  std::string source;
  data::appendUtf8(source, 0xF0002);
  const UserTextGuard guard(controls, source);
  OrderedJson value = used + "<[";
  Expected<Disguise> made = disguise(guard, value);
  ASSERT_TRUE(made) << made.message();
  EXPECT_EQ(made->restore(value.get<std::string>()), used + "<[");
  EXPECT_EQ(made->restore(source), source);
}

TEST(UserTextGuard, failsWhenNoPrivateCharacterIsFree) {
  std::string all;
  for (const auto& [first, last] :
       {std::pair(0xF0000u, 0xFFFFDu), std::pair(0x100000u, 0x10FFFDu)})
    for (uint32_t each = first; each <= last; ++each)
      data::appendUtf8(all, each);
  OrderedJson value = all;
  EXPECT_EQ(disguise(UserTextGuard(controls, ""), value).message(),
            "the texts have 131068 different private-use characters, which "
            "leaves none to protect control tokens with; remove some of them");
}

TEST(UserTextGuard, refusesTextThatIsNotUtf8) {
  OrderedJson value = {{"content", "ab\xFF"}};
  EXPECT_EQ(disguise(UserTextGuard(controls, ""), value).message(),
            "a text is not UTF-8 at its byte 3");
}

TEST(UserTextGuard, findsPlainTags) {
  EXPECT_EQ(plainTags("<a></a-b_1> < c> <|d|> <> </> <<e>"),
            (std::set<std::string>{"<a>", "</a-b_1>", "<e>"}));
}

} // namespace
} // namespace reciperun::serve
