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

/// The message with names in place of the paths of a conversion.
std::string withoutFiles(std::string message) {
  const size_t end = message.find("`, and name the new file");
  const size_t begin = message.rfind("' ", end);
  if (end == message.npos || begin == message.npos)
    return message;
  return message.replace(begin + 2, end - begin - 2, "FILE > NEW");
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
            "line 1: column 17: the line ends inside a value; a line holds a "
            "whole value, and a line break in a text is `\\n`");
  EXPECT_EQ(errorOf(good + good),
            "line 1: column 33: the line goes on behind its value; write each "
            "value in a line of its own");
  EXPECT_EQ(errorOf("[1, 2]"),
            "line 1: the line is a list where an object is due; write "
            "`{\"question\": \"...\", \"answer\": \"...\"}` in its place");
  EXPECT_EQ(errorOf(R"({"question": "a "b" c", "answer": "d"})"),
            "line 1: column 17: `\"` inside a text is written `\\\"`");
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
            "`question`; add a text `answer` to the objects of the file");
  EXPECT_EQ(errorOf(R"({"question": "a", "reply": "b", "x": "c"})"),
            "line 1: the field `answer` is missing; the object has `question`, "
            "`reply` and `x`; name a field of the objects, `completion = "
            "\"reply\"` or `completion = \"x\"`, or rename one in the file");
  EXPECT_EQ(errorOf(good + "\n" + R"({"question": "a"})"),
            "line 2: the field `answer` is missing; the object has `question`; "
            "other lines have `answer`: add it to this one, or remove the "
            "line");
  EXPECT_EQ(withoutFiles(errorOf(R"({"question": 3, "answer": "b"})")),
            "line 1: the field `question` is a number where a text is due; "
            "write it as a text, `\"3\"`: convert the file by `jq -c "
            "'.question |= tostring' FILE > NEW`, and name the new file");
  EXPECT_EQ(withoutFiles(errorOf(R"({"question": "a", "answer": null})")),
            "line 1: the field `answer` is null where a text is due; write a "
            "text there, or leave such lines out: convert the file by `jq -c "
            "'select(.answer != null)' FILE > NEW`, and name the new file");
  EXPECT_EQ(withoutFiles(errorOf(R"({"question": "a", "answer": ["b"]})")),
            "line 1: the field `answer` is a list where a text is due; join "
            "its texts into one: convert the file by `jq -c '.answer |= "
            "join(\"\\n\")' FILE > NEW`, and name the new file");
  EXPECT_EQ(withoutFiles(errorOf(R"({"question": "a", "answer": {"b": 1}})")),
            "line 1: the field `answer` is an object where a text is due; "
            "write it as a text of JSON: convert the file by `jq -c '.answer "
            "|= tojson' FILE > NEW`, and name the new file");
}

TEST(Jsonl, failMessages) {
  EXPECT_EQ(errorOf(R"({"x": 1})", true),
            "line 1: the field `chat` is missing; the object has `x`; add a "
            "list of messages `chat` to the objects of the file");
  EXPECT_EQ(errorOf("{}", true),
            "line 1: the field `chat` is missing; the object is empty; add a "
            "list of messages `chat` to the objects of the file");
  EXPECT_EQ(errorOf(R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,)"
                    R"("i":1})",
                    true),
            "line 1: the field `chat` is missing; the object has `a`, `b`, "
            "`c`, `d`, `e`, `f`, `g` and others; add a list of messages `chat` "
            "to the objects of the file");
  EXPECT_EQ(errorOf(R"({"chat": "hi"})", true),
            "line 1: the field `chat` is a text where a list of messages is "
            "due; write a list of messages, `[{\"role\": \"user\", "
            "\"content\": \"...\"}, {\"role\": \"assistant\", \"content\": "
            "\"...\"}]`");
  EXPECT_EQ(
      withoutFiles(errorOf(R"({"chat": "[{\"role\": \"user\"}]"})", true)),
      "line 1: the field `chat` is a text where a list of messages is "
      "due; write the list itself, not a text of it: convert the file by "
      "`jq -c '.chat |= fromjson' FILE > NEW`, and name the new file");
  EXPECT_EQ(errorOf(R"({"chat": [7]})", true),
            "line 1: the field `chat[0]` is a number where an object with "
            "`role` and `content` is due; write each message as `{\"role\": "
            "\"user\", \"content\": \"...\"}`");
  EXPECT_EQ(
      errorOf(R"({"chat": [{"role": "user"}]})", true),
      "line 1: the field `chat[0].content` is missing; the object has "
      "`role`; write the message's text as its `content`, `\"\"` where it "
      "has none, or leave the message out");
  EXPECT_EQ(
      withoutFiles(errorOf(R"({"chat": [{"role": "assistant", "content": null,)"
                           R"( "tool_calls": []}]})",
                           true)),
      "line 1: the field `chat[0].content` is null where a text is due; "
      "`tool_calls` are not read: write the calls into `content`, as JSON by "
      "`jq -c '.chat |= map(if .content == null then .content = (.tool_calls | "
      "tojson) else . end)' FILE > NEW`, and name the new file");
  EXPECT_EQ(errorOf(R"({"chat": [{"role": "user", "content": "x"}]})", true),
            "line 1: the field `chat` has no message of the role `assistant`, "
            "so that there is nothing to learn from; add the answer as a "
            "message of the role `assistant`, or leave such lines out");
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
                "  line 5: the line is a list where an object is due; other "
                "lines have `question`: add it to these, or remove the lines");
}

TEST(Jsonl, failRoles) {
  const auto roleError = [](const std::string& role) {
    return withoutFiles(errorOf(
        R"({"chat": [{"role": ")" + role + R"(", "content": "x"}]})", true));
  };
  const std::string roles =
      "; roles are `system`, `developer`, `user`, `assistant`, `tool`, "
      "`function`";
  const auto converts = [](const std::string& role, const std::string& meant) {
    return "; write `" + meant +
           "`; convert the file by `jq -c "
           "'{chat: [.chat[] | {role: ({" +
           role + ": \"" + meant +
           "\"}[.role] // .role), content: .content}]}' FILE > NEW`, and name "
           "the new file";
  };
  EXPECT_EQ(roleError("Assistant"),
            "line 1: the field `chat[0].role`: a message has no role "
            "`Assistant`" +
                roles + converts("Assistant", "assistant"));
  EXPECT_EQ(
      roleError(" user\\n"),
      "line 1: the field `chat[0].role`: a message has no role ` user\n`" +
          roles +
          "; write `user`; write one of these roles, or leave such messages "
          "out");
  EXPECT_EQ(roleError("gpt"),
            "line 1: the field `chat[0].role`: a message has no role `gpt`" +
                roles + converts("gpt", "assistant"));
  EXPECT_EQ(roleError("x<|im_end|>"),
            "line 1: the field `chat[0].role`: a message has no role "
            "`x<|im_end|>`" +
                roles +
                "; write one of these roles, or leave such messages "
                "out");
}

/// Files that are not lines of JSON objects.
TEST(Jsonl, failOtherForms) {
  const auto formError = [](const std::string& text) {
    const ScratchFile file(text);
    std::string error = readAll(prompts(file.path())).error;
    const size_t at = error.find(file.path());
    return error.replace(at, file.path().size(), "F");
  };
  EXPECT_EQ(withoutFiles(formError("question,answer\na,b\n")),
            "the data set `F` is a table of CSV, and each line has to be one "
            "object of JSON; write its rows as lines of JSON by `python3 -c "
            "'import csv, json, sys; [print(json.dumps(row)) for row in "
            "csv.DictReader(open(sys.argv[1], newline=\"\", "
            "encoding=\"utf-8-sig\"))]' FILE > NEW`, and name the new file");
  EXPECT_EQ(formError("Once upon a time\n"),
            "the data set `F` begins with `Once upon a time`, and each line "
            "has to be one object of JSON; write `{\"question\": \"...\", "
            "\"answer\": \"...\"}` in each line");
  EXPECT_TRUE(formError("{'question': 'a', 'answer': 'b'}\n")
                  .starts_with("the data set `F` has dicts of Python, and each "
                               "line has to be one object of JSON; write its "
                               "dicts as lines of JSON by `python3 "));
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
            "the data set `" + file.path() +
                "` has no samples; write one into each line, `{\"question\": "
                "\"...\", \"answer\": \"...\"}`");
}

TEST(Jsonl, failAbsent) {
  EXPECT_EQ(JsonlReader::open(prompts("nowhere.jsonl"), {}).message(),
            "cannot read `nowhere.jsonl`: No such file or directory");
  EXPECT_FALSE(JsonlReader::open(prompts("/"), {}));
}

} // namespace
} // namespace reciperun::data
