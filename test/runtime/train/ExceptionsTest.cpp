// Exceptions are reported in our own words.

#include "runtime/train/Exceptions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace reciperun::train {
namespace {

std::string messageOf(const std::function<void()>& thrower) {
  try {
    thrower();
  } catch (...) {
    return statusOfException().message();
  }
  return "nothing was thrown";
}

TEST(Exceptions, memoryThatRanOut) {
  const std::string message = messageOf([] { throw std::bad_alloc(); });
  EXPECT_TRUE(message.starts_with("there is not enough memory: ")) << message;
  EXPECT_NE(message.find("`ulimit -v`"), std::string::npos) << message;
}

TEST(Exceptions, filesKeepTheirPathAndCause) {
  const std::string message = messageOf([] {
    throw std::filesystem::filesystem_error(
        "cannot open directory", "data/loop",
        std::make_error_code(std::errc::too_many_symbolic_link_levels));
  });
  EXPECT_EQ(message, "cannot open directory: Too many levels of symbolic links "
                     "[data/loop]");
}

TEST(Exceptions, threadsThatAreNotGranted) {
  const std::string message = messageOf([] {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(message, "cannot start a thread: Resource temporarily unavailable; "
                     "raise the limit of processes (`ulimit -u`) or of memory");
}

TEST(Exceptions, othersHaveTheirOwnText) {
  EXPECT_EQ(messageOf([] { throw std::runtime_error("a row is missing"); }),
            "a row is missing");
  EXPECT_EQ(messageOf([] { throw 7; }),
            "something was thrown that is no exception");
}

TEST(ExceptionsDeathTest, endAThreadWithTheMessage) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto end = [] {
    reportExceptionsOfThreads();
    std::thread([] { throw std::runtime_error("a row is missing"); }).join();
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(1), "^error: a row is missing");
}

} // namespace
} // namespace reciperun::train
