// Why the sample plan is refused after an edit.

#ifndef TEST_RUNTIME_PLAN_REFUSAL_H
#define TEST_RUNTIME_PLAN_REFUSAL_H

#include "runtime/plan/PlanJson.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace reciperun::plan {

/// The message for the sample plan after an edit.
inline std::string refusal(const std::function<void(Plan&)>& edit) {
  Plan plan = samplePlan();
  edit(plan);
  return validate(plan).message();
}

#define EXPECT_REFUSED(edit, words)                                            \
  do {                                                                         \
    std::string message = refusal([&](Plan& p) { edit; });                     \
    EXPECT_NE(message.find(words), std::string::npos) << message;              \
  } while (false)

} // namespace reciperun::plan

#endif // TEST_RUNTIME_PLAN_REFUSAL_H
