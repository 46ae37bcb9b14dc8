// generation_config.json: tokens that end an answer, and files without them.

#include "runtime/serve/engine/EndTokens.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

using Ids = std::set<int32_t>;

struct Read {
  Ids ids;
  std::string message;
};

Read readText(std::string_view text) {
  checkpoint::TestFolder folder;
  auto ids = readEndTokens(folder.write("generation_config.json", text));
  return {ids ? *ids : Ids(), ids.message()};
}

TEST(EndTokens, AreOneOrSeveralOrNone) {
  EXPECT_EQ(readText(R"({"eos_token_id": 7})").ids, Ids{7});
  EXPECT_EQ(readText(R"({"eos_token_id": [7, 9]})").ids, (Ids{7, 9}));
  for (const char* none : {R"({"eos_token_id": null})", "{}"})
    EXPECT_EQ(readText(none).message, "");
  checkpoint::TestFolder folder;
  EXPECT_TRUE(readEndTokens(folder / "none.json"));
}

TEST(EndTokens, AreNotGuessed) {
  for (const char* value :
       {R"("7")", "-1", "7.5", "4294967296", "[7, null]", R"({"id": 7})"}) {
    std::string text = std::string(R"({"eos_token_id": )") + value + "}";
    EXPECT_NE(readText(text).message.find("neither a token id nor a list"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(readText("[]").message.find("it is no JSON object"),
            std::string::npos);
  EXPECT_NE(readText("").message.find("the file is empty"), std::string::npos);
  EXPECT_NE(readText(std::string(100000, '[')).message.find("128 deep"),
            std::string::npos);
}

TEST(EndTokens, OfAFileThatCannotBeReadAreAnError) {
  checkpoint::TestFolder folder;
  std::filesystem::create_symlink("nowhere", folder / "link.json");
  EXPECT_NE(readEndTokens(folder / "link.json").message().find("No such file"),
            std::string::npos);
  EXPECT_NE(readEndTokens(folder.path()).message().find("not a regular file"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::serve
