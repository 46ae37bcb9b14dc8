// Prompts from arguments and files: all of them, in order, as UTF-8, with the
// options of their rows.

#include "runtime/serve/prompts/PromptFile.h"

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
      texts.push_back(std::get<std::string>(prompt.content));
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
            "`--prompt`: the prompt is not UTF-8 at its byte 2; write it in "
            "UTF-8, or "
            "convert its file by `iconv`");
  EXPECT_EQ(
      readPrompts({{false, "a"}, {false, "\xC3"}}).message(),
      "prompt 2: the prompt is not UTF-8 at its byte 1; write it in UTF-8, or "
      "convert its file by `iconv`");
  EXPECT_NE(refusal("a.txt", "fine\n\xED\xA0\x80\n").find("line 2: the prompt"),
            std::string::npos);
}

/// The only prompt of a file.
Prompt onlyPrompt(std::string_view row, const SamplingArguments& sampling) {
  checkpoint::TestFolder folder;
  auto prompts =
      readPrompts({{true, folder.write("a.jsonl", row).string()}}, sampling);
  EXPECT_TRUE(prompts) << prompts.message();
  return prompts ? prompts->front() : Prompt();
}

TEST(Prompts, AreTextsMessagesOrIds) {
  const Prompt ids = onlyPrompt(R"({"input_ids": [1, 2], "id": "a"})", {});
  EXPECT_EQ(std::get<std::vector<int32_t>>(ids.content),
            (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(ids.id, "\"a\"");
  const Prompt chat =
      onlyPrompt(R"({"id": 7, "messages": [{"role": "user", "content": "x"}], )"
                 R"("tools": [{"name": "f"}]})",
                 {});
  EXPECT_EQ(std::get<ChatInput>(chat.content).messages[0]["content"], "x");
  EXPECT_EQ(std::get<ChatInput>(chat.content).tools.size(), 1u);
  EXPECT_EQ(chat.id, "7");
}

TEST(Prompts, HaveOptionsOfTheirRow) {
  SamplingArguments sampling;
  sampling.topK = 5;
  sampling.temperature = 0.25;
  const Prompt prompt = onlyPrompt(
      R"({"prompt": "x", "temperature": 1.5, "top_p": 0.5, "seed": 3, )"
      R"("max_tokens": 9, "stop": "end", "stop_token_ids": [4, 5], )"
      R"("bad_words": ["a", "b"], "logit_bias": {"7": -1.5}, )"
      R"("ignore_eos": true, "logprobs": 2, "min_p": null, "note": "free"})",
      sampling);
  const SamplingArguments& read = prompt.sampling;
  EXPECT_EQ(read.temperature, 1.5);
  EXPECT_EQ(read.topK, 5);
  EXPECT_EQ(read.topP, 0.5);
  EXPECT_EQ(read.minP, std::nullopt);
  EXPECT_EQ(read.seed, 3u);
  EXPECT_EQ(read.maxTokens, 9);
  EXPECT_EQ(read.stopStrings, Texts{"end"});
  EXPECT_EQ(read.stopTokens, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(read.badWords, (Texts{"a", "b"}));
  EXPECT_EQ(read.logitBias,
            (std::vector<std::pair<int32_t, float>>{{7, -1.5f}}));
  EXPECT_TRUE(read.ignoreEndTokens);
  EXPECT_EQ(read.logprobs, 2);
}

TEST(Prompts, NameTheFieldOfARowThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a": 1, "b": 2})", "none of the fields `prompt`, `messages` and "
                              "`input_ids` is there; the object has `a` and "
                              "`b`"},
      {"{}", "none of the fields `prompt`, `messages` and `input_ids` is "
             "there; the object is empty"},
      {R"({"prompt": "x", "input_ids": [1]})",
       "the fields `prompt` and `input_ids` are both there; leave one of them"},
      {R"({"prompt": [1, 2]})", "the field `prompt` is of type array, and not "
                                "a text; a list of token ids is called "
                                "`input_ids`"},
      {R"({"input_ids": [1, -2]})",
       "the field `input_ids[1]` is `-2` where a token id is due"},
      {R"({"input_ids": []})", "the field `input_ids` is no list of token ids"},
      {R"({"prompt": "x", "temprature": 1})",
       "there is no field `temprature`; write `temperature`"},
      {R"({"prompt": "x", "response_format": {"type": "json_object"}})",
       "there is no field `response_format`; `--json-schema`, `--regex`, "
       "`--choice` or `--grammar` gives the answers of all lines their form"},
      {R"({"prompt": "x", "max_new_tokens": 8})",
       "there is no field `max_new_tokens`; write `max_tokens`"},
      {R"({"prompt": "x", "temperature": "hot"})",
       "the field `temperature` is `\"hot\"` where a number is due"},
      {R"({"prompt": "x", "max_tokens": -1})",
       "the field `max_tokens` is `-1` where a whole number from 1 is due"},
      {R"({"prompt": "x", "stop_token_ids": [1.5]})",
       "the field `stop_token_ids` is `[1.5]` where a list of token ids is "
       "due"},
      {R"({"prompt": "x", "logit_bias": {"a": 1}})",
       "the field `logit_bias` is `{\"a\":1}` where an object of token ids "
       "and numbers is due"},
      {R"({"prompt": "x", "prompt": "y"})", ""},
      {R"({"prompt": "\ud800"})", ""},
  };
  for (const auto& [row, message] : cases) {
    const std::string refused = refusal("a.jsonl", row);
    EXPECT_NE(refused.find(std::string("line 1: ") + message),
              std::string::npos)
        << row << "\n"
        << refused;
  }
}

TEST(Prompts, NameTheFirstTenBadRows) {
  std::string rows;
  for (int i = 0; i < 12; ++i)
    rows += i == 1 ? "\"fine\"\n" : "[]\n";
  const std::string refused = refusal("a.jsonl", rows);
  EXPECT_NE(refused.find("line 1: "), std::string::npos);
  EXPECT_EQ(refused.find("line 2: "), std::string::npos);
  EXPECT_NE(refused.find("line 11: "), std::string::npos);
  EXPECT_EQ(refused.find("line 12: "), std::string::npos);
}

TEST(Prompts, SayWhereALineIsNone) {
  EXPECT_NE(refusal("a.jsonl", "\"x\"\n{\"text\": \"y\"}\n")
                .find("line 2: none of the fields `prompt`, `messages` and "
                      "`input_ids` is there; the object has `text`: call it "
                      "`prompt`"),
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
