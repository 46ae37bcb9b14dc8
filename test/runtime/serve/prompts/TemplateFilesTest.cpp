// The places where Hugging Face directories keep templates and tokens.

#include "runtime/serve/prompts/TemplateFiles.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

using checkpoint::TestFolder;

TEST(TemplateFiles, readTheConfiguration) {
  TestFolder folder;
  folder.write("tokenizer_config.json",
               R"({"chat_template": "a", "bos_token": "<s>",
                   "eos_token": {"content": "</s>", "lstrip": false},
                   "pad_token": null, "model_max_length": 1e30})");
  folder.write("special_tokens_map.json",
               R"({"eos_token": "other", "unk_token": "<unk>"})");
  Expected<TemplateFiles> files = readTemplateFiles(folder.path());
  ASSERT_TRUE(files) << files.message();
  ASSERT_NE(files->find("default"), nullptr);
  EXPECT_EQ(files->find("default")->text, "a");
  EXPECT_EQ(files->tokens, (std::vector<std::pair<std::string, std::string>>{
                               {"bos_token", "<s>"},
                               {"eos_token", "</s>"},
                               {"unk_token", "<unk>"}}));
}

TEST(TemplateFiles, preferFilesToTheConfiguration) {
  TestFolder folder;
  folder.write("tokenizer_config.json", R"({"chat_template": [
    {"name": "default", "template": "old"},
    {"name": "tool_use", "template": "tools"},
    {"name": "rag", "template": "old"}]})");
  folder.write("chat_template.jinja", "new");
  std::filesystem::create_directory(folder.path() /
                                    "additional_chat_templates");
  folder.write("additional_chat_templates/rag.jinja", "documents");
  Expected<TemplateFiles> files = readTemplateFiles(folder.path());
  ASSERT_TRUE(files) << files.message();
  EXPECT_EQ(files->find("default")->text, "new");
  EXPECT_EQ(files->find("tool_use")->text, "tools");
  EXPECT_EQ(files->find("rag")->text, "documents");
  EXPECT_EQ(files->find("none"), nullptr);
}

TEST(TemplateFiles, mayBeAbsent) {
  Expected<TemplateFiles> files = readTemplateFiles(TestFolder().path());
  ASSERT_TRUE(files) << files.message();
  EXPECT_TRUE(files->templates.empty());
}

TEST(TemplateFiles, failWithTheirName) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "tokenizer_config.json`: line 1"},
      {"[]", "tokenizer_config.json`: the file is no JSON object"},
      {R"({"chat_template": 3})",
       "`chat_template` is neither a text nor a list of objects"},
      {R"({"chat_template": [{"name": "x"}]})",
       "`chat_template` is neither a text nor a list of objects"}};
  for (const auto& [text, message] : cases) {
    TestFolder folder;
    folder.write("tokenizer_config.json", text);
    EXPECT_NE(readTemplateFiles(folder.path()).message().find(message),
              std::string::npos)
        << text;
  }
  TestFolder folder;
  folder.write("chat_template.jinja", "a\xFF");
  EXPECT_NE(readTemplateFiles(folder.path())
                .message()
                .find("chat_template.jinja`: the template is not UTF-8 at its "
                      "byte 2"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::serve
