// Checks that an error's text contains what the test expects: a refusal for
// another reason is not a pass.

#ifndef RECIPERUN_TEST_SAYS_H
#define RECIPERUN_TEST_SAYS_H

#include <string_view>

namespace reciperun {

/// For `EXPECT_PRED2(says, refusal, "part")`, which prints both on failure.
inline bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace reciperun

#endif // RECIPERUN_TEST_SAYS_H
