// The grammar of a list of texts.

#ifndef RECIPERUN_GRAMMAR_CHOICES_H
#define RECIPERUN_GRAMMAR_CHOICES_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Expression.h"

#include <span>
#include <string>

namespace reciperun::grammar {

/// Exactly one of the texts. Fails when there is none, when one is empty, and
/// when one is not UTF-8.
Expected<Rules> rulesOfChoices(std::span<const std::string> texts);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_CHOICES_H
