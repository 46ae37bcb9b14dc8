// One rule with a literal for each text.

#include "runtime/grammar/Choices.h"

#include "runtime/grammar/TextCursor.h"

namespace reciperun::grammar {

Expected<Rules> rulesOfChoices(std::span<const std::string> texts) {
  if (texts.empty())
    return Status::error("there is no text to choose");
  std::vector<ExpressionPtr> alternatives;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty())
      return Status::error("choice " + std::to_string(i + 1) +
                           " is the empty text; an answer has at least one "
                           "character");
    RECIPERUN_TRY(checkText(texts[i], "choice " + std::to_string(i + 1)));
    alternatives.push_back(literal(texts[i]));
  }
  Rules rules;
  rules.root = rules.add("choice");
  rules.rules[0].body = choice(std::move(alternatives));
  return rules;
}

} // namespace reciperun::grammar
