// What a recipe's task is; see Task.h.

#include "compiler/recipe/Task.h"

namespace recipec::recipe {

bool serves(const Recipe& recipe) {
  const std::string& task = recipe.string("task");
  return task == "generate" || task == "serve";
}

} // namespace recipec::recipe
