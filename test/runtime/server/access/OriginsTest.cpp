// Which web pages may call the server.

#include "runtime/server/access/Origins.h"

#include <gtest/gtest.h>

namespace reciperun::server {
namespace {

TEST(Origins, AreListsOfTextsOrJson) {
  for (const char* fine :
       {"*", "https://a.example", "http://localhost:3000,https://[::1]:8443",
        R"(["https://a.example", "*"])"})
    EXPECT_TRUE(Origins().add(fine).isOk()) << fine;
}

TEST(Origins, OtherFormsAreRefused) {
  for (const char* wrong :
       {"a.example", "https://", "https://a.example/", "https://A.example",
        "https://a.example https://b.example", "[1]", "[", "https://*.example"})
    EXPECT_FALSE(Origins().add(wrong).isOk()) << wrong;
}

} // namespace
} // namespace reciperun::server
