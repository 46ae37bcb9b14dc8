// Lines of a conversation are messages or commands.

#include "runtime/serve/commands/ChatLine.h"

#include "runtime/serve/commands/InterruptKey.h"

#include <csignal>
#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

using Kind = ChatLine::Kind;

void expectLine(std::string_view line, Kind kind, std::string_view text) {
  Expected<ChatLine> read = readChatLine(line);
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->kind, kind) << line;
  EXPECT_EQ(read->text, text) << line;
}

TEST(ChatLine, isACommandOrAMessage) {
  expectLine("hello /reset", Kind::message, "hello /reset");
  expectLine("/reset", Kind::reset, "");
  expectLine("/system  be brief ", Kind::system, "be brief");
  expectLine("/system one\ntwo", Kind::system, "one\ntwo");
  expectLine("/exit", Kind::exit, "");
  expectLine("/help", Kind::help, "");
  // Paths and texts behind a space are messages.
  expectLine("/usr/bin is what?", Kind::message, "/usr/bin is what?");
  expectLine(" /reset", Kind::message, "/reset");
  expectLine("  indented", Kind::message, "  indented");
  expectLine("/", Kind::message, "/");
}

TEST(ChatLine, failsForOtherCommandsAndBytes) {
  EXPECT_EQ(readChatLine("/resett").message(),
            "there is no command `/resett`; write `/reset`, or begin a message "
            "with a space");
  EXPECT_EQ(readChatLine("/clear all").message(),
            "there is no command `/clear`; commands are `/reset`, `/system`, "
            "`/adapter`, `/help` and `/exit`, or begin a message with a space");
  EXPECT_EQ(readChatLine("a\xFF").message(),
            "the line is not UTF-8 at its byte 2");
}

TEST(ChatLine, continuesBehindABackslash) {
  std::string message;
  EXPECT_TRUE(appendLine("one\\", message));
  EXPECT_TRUE(appendLine("\\", message));
  EXPECT_FALSE(appendLine("two", message));
  EXPECT_EQ(message, "one\n\ntwo");
}

TEST(InterruptKey, setsAFlag) {
  InterruptKey key;
  EXPECT_FALSE(key.isPressed());
  std::raise(SIGINT);
  EXPECT_TRUE(key.isPressed());
  key.clear();
  EXPECT_FALSE(key.isPressed());
}

} // namespace
} // namespace reciperun::serve
