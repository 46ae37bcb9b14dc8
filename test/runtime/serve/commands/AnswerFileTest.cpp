// The file of answers that `reciperun generate --output` writes and resumes.

#include "runtime/serve/commands/AnswerRows.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace reciperun::serve {
namespace {

using Existing = AnswerFile::Existing;

std::vector<Prompt> twoPrompts() {
  std::vector<Prompt> prompts(2);
  prompts[0].content = std::string("a");
  prompts[1].content = std::vector<int32_t>{1, 2};
  prompts[1].id = "\"x\"";
  return prompts;
}

Answer answerOf(const std::string& text) {
  Answer answer;
  answer.text = text;
  answer.tokens.resize(2);
  answer.reason = FinishReason::endToken;
  return answer;
}

std::string textOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

const std::string first =
    R"({"index":0,"prompt":"a","answer":"b","tokens":2,"stop":"end_token"})"
    "\n";
const std::string second =
    R"({"index":1,"id":"x","input_ids":[1,2],"answer":"c","tokens":2,)"
    R"("stop":"end_token"})"
    "\n";

struct AnswerFileTest : testing::Test {
  checkpoint::TestFolder folder;
  const std::string path = (folder.path() / "answers.jsonl").string();
  const std::vector<Prompt> prompts = twoPrompts();

  void put(const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string messageOf(Existing existing) {
    const std::string message =
        AnswerFile::open(path, existing, prompts).message();
    return message.substr(0, message.find("; `--resume` goes on with"));
  }
};

TEST_F(AnswerFileTest, WritesARowForEachAnswer) {
  Expected<AnswerFile> file = AnswerFile::open(path, Existing::refuse, prompts);
  ASSERT_TRUE(file) << file.message();
  EXPECT_FALSE(file->has(0));
  EXPECT_TRUE(file->write(prompts[1], 1, answerOf("c")).isOk());
  EXPECT_EQ(textOf(path), second); // before the file is closed
  Answer failed;
  failed.error = "too long";
  EXPECT_TRUE(file->write(prompts[0], 0, failed).isOk());
  EXPECT_EQ(textOf(path), second +
                              R"({"index":0,"prompt":"a","error":"too long"})"
                              "\n");
}

TEST_F(AnswerFileTest, ResumesAfterTheAnswersOfTheFile) {
  const std::string error = R"({"index":0,"prompt":"a","error":"e"})"
                            "\n";
  put(error + second + first.substr(0, 20));
  Expected<AnswerFile> file = AnswerFile::open(path, Existing::resume, prompts);
  ASSERT_TRUE(file) << file.message();
  EXPECT_EQ(textOf(path), second);
  EXPECT_FALSE(file->has(0));
  EXPECT_TRUE(file->has(1));
  EXPECT_EQ(file->answers(), 1u);
  EXPECT_TRUE(file->write(prompts[0], 0, answerOf("b")).isOk());
  EXPECT_EQ(textOf(path), second + first);
}

TEST_F(AnswerFileTest, StartsAFileThatIsNotThere) {
  EXPECT_EQ(messageOf(Existing::resume), "");
  EXPECT_EQ(textOf(path), "");
}

TEST_F(AnswerFileTest, RefusesAFileOfOtherContents) {
  put(first);
  EXPECT_NE(messageOf(Existing::refuse).find("is there; go on"),
            std::string::npos);
  EXPECT_EQ(textOf(path), first);
  const std::string place = "`" + path + "`: line 1: ";
  put("{\"a\": 1}\n");
  EXPECT_EQ(messageOf(Existing::resume),
            place + "the row has no `index`, so that it is no answer");
  put(R"({"index":2,"prompt":"a"})"
      "\n");
  EXPECT_EQ(messageOf(Existing::resume),
            place + "the row answers prompt 2, and there are 2");
  put(R"({"index":0,"prompt":"other"})"
      "\n");
  EXPECT_EQ(messageOf(Existing::resume),
            place +
                "the row answers another prompt than prompt 0 of this call");
  EXPECT_EQ(textOf(path), R"({"index":0,"prompt":"other"})"
                          "\n");
  EXPECT_EQ(messageOf(Existing::replace), "");
  EXPECT_EQ(textOf(path), "");
}

} // namespace
} // namespace reciperun::serve
