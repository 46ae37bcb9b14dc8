// A path that is missing, as a name on the Hugging Face Hub.

#include "runtime/checkpoint/HubName.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

TEST(HubName, HasAnOrganisationThatIsNoFolder) {
  TestFolder folder;
  folder.write("models/tiny/config.json", "{}");
  auto isName = [&](const char* written) {
    return isHubName(written, folder / written);
  };
  for (const char* name : {"meta-llama/Llama-3.2-1B", "org/a_b", "gpt2"})
    EXPECT_TRUE(isName(name)) << name;
  for (const char* path : {"models/tony", "a/b/c", "./a", "/a", "a/",
                           "plan.json", "a/b.json", "runs/a b", "~/models", ""})
    EXPECT_FALSE(isName(path)) << path;
}

TEST(HubName, TellsHowToDownload) {
  EXPECT_EQ(downloadCommand("org/a", "/models/a"),
            "huggingface-cli download org/a --local-dir /models/a");
  const std::string message = describeMissingModel("org/a");
  EXPECT_TRUE(message.starts_with("there is no `org/a` in `/")) << message;
  EXPECT_NE(message.find("`huggingface-cli download org/a --local-dir org/a`"),
            std::string::npos);
  EXPECT_EQ(describeMissingModel("/none/a"), "there is no `/none/a`");
}

} // namespace
} // namespace reciperun::checkpoint
