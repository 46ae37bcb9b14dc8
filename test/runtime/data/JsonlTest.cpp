// Samples are read, and unusable lines are reported by number.

#include "runtime/data/Jsonl.h"

#include "test/runtime/data/ScratchFile.h"

#include <gtest/gtest.h>

namespace reciperun::data {
namespace {

plan::DataSource prompts(const std::string& path) {
  return {"jsonl", path, "question", "answer", ""};
}
plan::DataSource messages(const std::string& path) {
  return {"jsonl", path, "", "", "chat"};
}
const plan::ChatTemplate chatTemplate = {"<{role}>", "</{role}>"};

struct Outcome {
  std::vector<Sample> samples;
  std::string error; // without the text before the first line's error
};

Outcome readAll(const plan::DataSource& source) {
  Expected<JsonlReader> reader = JsonlReader::open(source, chatTemplate);
  EXPECT_TRUE(reader) << reader.message();
  Outcome outcome;
  Sample sample;
  while (reader->next(sample))
    outcome.samples.push_back(sample);
  outcome.error = reader->finish().message();
  return outcome;
}

/// The message for the only error in the file.
std::string errorOf(const std::string& text, bool chat = false) {
  const ScratchFile file(text);
  const std::string error =
      readAll(chat ? messages(file.path()) : prompts(file.path())).error;
  const std::string start =
      "the data set `" + file.path() + "` cannot be used\n  ";
  EXPECT_EQ(error.substr(0, start.size()), start);
  return error.size() < start.size() ? error : error.substr(start.size());
}

const std::string good = R"({"question": "a", "answer": "b"})";

TEST(Jsonl, readsPromptsAndCompletions) {
  const ScratchFile file("\xEF\xBB\xBF" + good + "\r\n  \n" +
                         R"({"answer": "\u00e9", "x": 1, "question": ""})");
  const Outcome outcome = readAll(prompts(file.path()));
  EXPECT_EQ(outcome.error, "");
  ASSERT_EQ(outcome.samples.size(), 2u);
  EXPECT_EQ(outcome.samples[0].pieces[0].text, "a");
  EXPECT_FALSE(outcome.samples[0].pieces[0].counts);
  EXPECT_EQ(outcome.samples[0].pieces[1].text, "b");
  EXPECT_TRUE(outcome.samples[0].pieces[1].counts);
  EXPECT_EQ(outcome.samples[1].line, 3);
  EXPECT_EQ(outcome.samples[1].pieces[1].text, "\u00e9");
}

TEST(Jsonl, readsMessages) {
  const ScratchFile file(R"({"chat": [{"role": "user", "content": "hi"},)"
                         R"( {"role": "assistant", "content": "yes"}]})");
  const Outcome outcome = readAll(messages(file.path()));
  EXPECT_EQ(outcome.error, "");
  ASSERT_EQ(outcome.samples.size(), 1u);
  std::string text, counted;
  for (const Piece& piece : outcome.samples[0].pieces) {
    text += piece.text;
    counted += piece.counts ? piece.text : "";
  }
  EXPECT_EQ(text, "<user>hi</user><assistant>yes</assistant>");
  EXPECT_EQ(counted, "yes</assistant>");
}

TEST(Jsonl, failBrokenLines) {
  EXPECT_EQ(errorOf(good + "\n{\"question\": \"\u00e9\", answer: 1}"),
            "line 2: column 19: a name stands in quotation marks: "
            "`\"answer\"`, not `answer`");
  EXPECT_EQ(errorOf("{\"question\": \"a\""),
            "line 1: column 17: the line ends inside a value");
  EXPECT_EQ(errorOf(good + good),
            "line 1: column 33: the line goes on behind its value");
  EXPECT_EQ(errorOf("[1, 2]"),
            "line 1: the line is a list where an object is due");
  EXPECT_EQ(errorOf("{\"question\": 1e999}"),
            "line 1: column 18: the number `1e999` is out of range");
  const std::string latin = errorOf("{\"question\": \"a\xFF\"}");
  EXPECT_TRUE(latin.starts_with("line 1: column 16: the line is not UTF-8 "
                                "here, byte 0xFF; if its encoding is Latin-1, "
                                "convert it by `iconv -f latin1 -t utf-8 "))
      << latin;
}

TEST(Jsonl, failFields) {
  EXPECT_EQ(errorOf(R"({"question": "a"})"),
            "line 1: the field `answer` is missing; the object has "
            "`question`");
  EXPECT_EQ(errorOf(R"({"question": 3, "answer": "b"})"),
            "line 1: the field `question` is a number where a text is due");
  EXPECT_EQ(errorOf(R"({"question": "a", "answer": null})"),
            "line 1: the field `answer` is null where a text is due");
}

TEST(Jsonl, failMessages) {
  EXPECT_EQ(errorOf(R"({"x": 1})", true),
            "line 1: the field `chat` is missing; the object has `x`");
  EXPECT_EQ(errorOf("{}", true),
            "line 1: the field `chat` is missing; the object is empty");
  EXPECT_EQ(errorOf(R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,)"
                    R"("i":1})",
                    true),
            "line 1: the field `chat` is missing; the object has `a`, `b`, "
            "`c`, `d`, `e`, `f`, `g` and others");
  EXPECT_EQ(errorOf(R"({"chat": "hi"})", true),
            "line 1: the field `chat` is a text where a list of messages is "
            "due");
  EXPECT_EQ(errorOf(R"({"chat": [7]})", true),
            "line 1: the field `chat[0]` is a number where an object with "
            "`role` and `content` is due");
  EXPECT_EQ(errorOf(R"({"chat": [{"role": "user"}]})", true),
            "line 1: the field `chat[0].content` is missing; the object has "
            "`role`");
  EXPECT_EQ(errorOf(R"({"chat": [{"role": "user", "content": "x"}]})", true),
            "line 1: the field `chat` has no message of the role `assistant`, "
            "so that there is nothing to learn from");
}

TEST(Jsonl, failTellsAFaultOfManyLinesOnce) {
  std::string text = good + "\n";
  for (int i = 0; i < 20; ++i)
    text += i == 3 ? "[]\n" : "{}\n";
  const ScratchFile file(text);
  EXPECT_EQ(readAll(prompts(file.path())).error,
            "the data set `" + file.path() +
                "` cannot be used (the first 10 errors)\n"
                "  line 2 and 8 more: the field `question` is missing; the "
                "object is empty\n"
                "  line 5: the line is a list where an object is due");
}

TEST(Jsonl, failRoles) {
  const auto roleError = [](const std::string& role) {
    return errorOf(R"({"chat": [{"role": ")" + role + R"(", "content": "x"}]})",
                   true);
  };
  const std::string roles =
      "; roles are `system`, `developer`, `user`, `assistant`, `tool`, "
      "`function`";
  EXPECT_EQ(roleError("Assistant"),
            "line 1: the field `chat[0].role`: a message has no role "
            "`Assistant`" +
                roles + "; write `assistant`");
  EXPECT_EQ(
      roleError(" user\\n"),
      "line 1: the field `chat[0].role`: a message has no role ` user\n`" +
          roles + "; write `user`");
  EXPECT_EQ(roleError("gpt"),
            "line 1: the field `chat[0].role`: a message has no role `gpt`" +
                roles + "; write `assistant`");
  EXPECT_EQ(roleError("x<|im_end|>"),
            "line 1: the field `chat[0].role`: a message has no role "
            "`x<|im_end|>`" +
                roles);
}

TEST(Jsonl, failListsTheFirstTen) {
  std::string text = good + "\n";
  for (int i = 0; i < 20; ++i)
    text += "{\"a" + std::to_string(i) + "\": 1}\n";
  const ScratchFile file(text);
  const std::string error = readAll(prompts(file.path())).error;
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 10);
  EXPECT_NE(error.find("(the first 10 errors)\n  line 2: "), std::string::npos);
  EXPECT_NE(error.find("\n  line 11: "), std::string::npos);
}

TEST(Jsonl, failEmpty) {
  const ScratchFile file(" \n\n");
  EXPECT_EQ(readAll(prompts(file.path())).error,
            "the data set `" + file.path() + "` has no samples");
}

TEST(Jsonl, failAbsent) {
  EXPECT_EQ(JsonlReader::open(prompts("nowhere.jsonl"), {}).message(),
            "cannot read `nowhere.jsonl`: No such file or directory");
  EXPECT_FALSE(JsonlReader::open(prompts("/"), {}));
}

} // namespace
} // namespace reciperun::data
