// Gives a plan that a test has edited the hash of its new text:
// sealPlan < EDITED > SEALED.

#include "runtime/plan/PlanJson.h"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

int main() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto plan = reciperun::plan::fromJson(text);
  if (!plan) {
    std::fprintf(stderr, "error: %s\n", plan.message().c_str());
    return 1;
  }
  std::fputs(reciperun::plan::toJson(*plan).c_str(), stdout);
  return 0;
}
