// Prompts from arguments and files: all of them, in order, as UTF-8.

#include "runtime/serve/Prompts.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

std::vector<std::string> textsOf(const std::vector<PromptSource>& sources) {
  auto prompts = readPrompts(sources);
  EXPECT_TRUE(prompts) << prompts.message();
  std::vector<std::string> texts;
  if (prompts)
    for (const Prompt& prompt : *prompts)
      texts.push_back(prompt.text);
  return texts;
}

std::string refusal(const std::string& name, std::string_view text) {
  checkpoint::TestFolder folder;
  return readPrompts({{true, folder.write(name, text).string()}}).message();
}

using Texts = std::vector<std::string>;

TEST(Prompts, ComeFromArgumentsAndFilesInOrder) {
  checkpoint::TestFolder folder;
  std::string lines =
      folder.write("a.txt", "\xEF\xBB\xBFone\r\n\n  \ntwo words").string();
  std::string rows =
      folder.write("b.jsonl", "{\"prompt\": \"x\\ny\", \"id\": 3}\n\"z\"\n")
          .string();
  EXPECT_EQ(textsOf({{false, "first"}, {true, lines}, {true, rows}}),
            (Texts{"first", "one", "two words", "x\ny", "z"}));
  // An argument may contain line breaks.
  EXPECT_EQ(textsOf({{false, "a\nb"}}), (Texts{"a\nb"}));
}

TEST(Prompts, AreUtf8) {
  EXPECT_EQ(readPrompts({{false, "a\xFF"}}).message(),
            "`--prompt`: the prompt is not UTF-8 at its byte 2");
  EXPECT_EQ(readPrompts({{false, "a"}, {false, "\xC3"}}).message(),
            "prompt 2: the prompt is not UTF-8 at its byte 1");
  EXPECT_NE(refusal("a.txt", "fine\n\xED\xA0\x80\n").find("line 2: the prompt"),
            std::string::npos);
}

TEST(Prompts, SayWhereALineIsNone) {
  EXPECT_NE(refusal("a.jsonl", "\"x\"\n{\"text\": \"y\"}\n")
                .find("line 2: the field `prompt` is missing; the object has "
                      "`text`: call it `prompt`"),
            std::string::npos);
  EXPECT_NE(refusal("a.jsonl", "{\"prompt\": 3}")
                .find("line 1: the field `prompt` is of type number"),
            std::string::npos);
  EXPECT_NE(refusal("a.jsonl", "[1]").find("line 1: the line is of type array"),
            std::string::npos);
  EXPECT_NE(refusal("a.jsonl", std::string(100000, '[')).find("128 deep"),
            std::string::npos);
  EXPECT_NE(refusal("a.txt", " \n\n").find("has no prompt"), std::string::npos);
  EXPECT_NE(readPrompts({{true, "no/such"}})
                .message()
                .find("`no/such`: No such file or directory"),
            std::string::npos);
  checkpoint::TestFolder folder;
  EXPECT_NE(readPrompts({{true, folder.path().string()}})
                .message()
                .find("Is a directory"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::serve
