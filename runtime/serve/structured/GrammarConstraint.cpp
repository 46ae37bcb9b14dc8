// The mask of the grammar, and the end tokens where the grammar may end.

#include "runtime/serve/structured/GrammarConstraint.h"

#include <algorithm>

namespace reciperun::serve {

std::shared_ptr<const grammar::Vocabulary>
vocabularyOf(const data::Tokenizer& tokenizer, int64_t vocab) {
  std::vector<std::string> tokens(static_cast<size_t>(vocab));
  const int64_t known = std::min(vocab, tokenizer.size());
  for (int32_t id = 0; id < known; ++id)
    if (!tokenizer.isSpecial(id))
      tokens[size_t(id)] = tokenizer.bytesOf(id);
  return std::make_shared<const grammar::Vocabulary>(std::move(tokens));
}

GrammarConstraint::GrammarConstraint(std::shared_ptr<grammar::MaskTable> table,
                                     std::set<int32_t> endTokens)
    : masks(std::move(table)), endTokens(std::move(endTokens)),
      matcher(masks->automaton()) {}

bool GrammarConstraint::isComplete() const {
  return hasEnded || matcher.isComplete();
}

Status GrammarConstraint::fillMask(std::span<uint32_t> allowed) {
  const grammar::Vocabulary& vocabulary = masks->vocabulary();
  if (allowed.size() != vocabulary.words())
    return Status::error("the mask has " + std::to_string(allowed.size()) +
                         " words, and the vocabulary of the grammar has " +
                         std::to_string(vocabulary.words()));
  if (hasEnded)
    std::fill(allowed.begin(), allowed.end(), 0);
  else
    RECIPERUN_TRY(masks->fill(matcher, allowed));
  if (isComplete())
    for (const int32_t id : endTokens)
      if (id >= 0 && size_t(id) < vocabulary.size())
        allowed[size_t(id) / 32] |= uint32_t(1) << (id % 32);
  const bool isStuck =
      !isComplete() && std::all_of(allowed.begin(), allowed.end(),
                                   [](uint32_t word) { return word == 0; });
  if (isStuck)
    return Status::error("no token of the vocabulary goes on with the answer "
                         "as the grammar needs it");
  return {};
}

Status GrammarConstraint::accept(int32_t token) {
  const grammar::Vocabulary& vocabulary = masks->vocabulary();
  const std::string name = "token " + std::to_string(token);
  if (token < 0 || size_t(token) >= vocabulary.size())
    return Status::error(name + " is outside of the vocabulary of " +
                         std::to_string(vocabulary.size()));
  if (endTokens.contains(token)) {
    if (!isComplete())
      return Status::error(name +
                           " ends the answer before the grammar is complete");
    hasEnded = true;
    return {};
  }
  if (hasEnded)
    return Status::error(name + " follows the end of the answer");
  if (vocabulary.bytesOf(token).empty())
    return Status::error(name + " has no text, so that no grammar allows it");
  return matcher.acceptBytes(vocabulary.bytesOf(token)).withContext(name);
}

} // namespace reciperun::serve
