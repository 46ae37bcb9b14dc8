// Constrains an answer to a grammar.

#ifndef RECIPERUN_SERVE_STRUCTURED_GRAMMARCONSTRAINT_H
#define RECIPERUN_SERVE_STRUCTURED_GRAMMARCONSTRAINT_H

#include "runtime/data/Tokenizer.h"
#include "runtime/grammar/MaskTable.h"
#include "runtime/serve/sampling/TokenConstraint.h"

#include <memory>
#include <set>

namespace reciperun::serve {

/// The bytes of each of `vocab` ids. Special tokens and ids without a token
/// have no bytes, so that no grammar allows them.
std::shared_ptr<const grammar::Vocabulary>
vocabularyOf(const data::Tokenizer& tokenizer, int64_t vocab);

/// The state of one answer. Answers with the same grammar share its masks.
class GrammarConstraint : public TokenConstraint {
public:
  /// `endTokens` may end the answer when it matches the grammar.
  GrammarConstraint(std::shared_ptr<grammar::MaskTable> masks,
                    std::set<int32_t> endTokens);

  /// Fails when the answer is not complete and no token can follow, which
  /// happens only if the vocabulary lacks bytes; and when the grammar is too
  /// ambiguous.
  Status fillMask(std::span<uint32_t> allowed) override;
  Status accept(int32_t token) override;
  bool isComplete() const override;

private:
  std::shared_ptr<grammar::MaskTable> masks;
  std::set<int32_t> endTokens;
  grammar::Matcher matcher;
  bool hasEnded = false;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_STRUCTURED_GRAMMARCONSTRAINT_H
