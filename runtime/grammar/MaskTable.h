// The tokens that may come next, as a bit mask over the vocabulary.
//
// The state on top of the stack alone decides most tokens. The others, such as
// `"},`, return from its rule and depend on the frames below. For a state, the
// table caches the tokens that are allowed and those that are undecided; for
// the state with one more frame below it, the undecided tokens that this
// decides; and so on until none is undecided. A mask is the union of the
// allowed tokens, so in a known context it costs a copy. All matchers of the
// grammar share the table.

#ifndef RECIPERUN_GRAMMAR_MASKTABLE_H
#define RECIPERUN_GRAMMAR_MASKTABLE_H

#include "runtime/grammar/Matcher.h"
#include "runtime/grammar/StateClasses.h"
#include "runtime/grammar/Vocabulary.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace reciperun::grammar {

/// Thread-safe.
class MaskTable {
public:
  MaskTable(std::shared_ptr<const Automaton> automaton,
            std::shared_ptr<const Vocabulary> vocabulary);
  ~MaskTable();

  const std::shared_ptr<const Automaton>& automaton() const { return machine; }
  const Vocabulary& vocabulary() const { return *tokens; }

  /// Sets bit `id % 32` of word `id / 32` of each token that may come next, and
  /// clears the others. `matcher` is of the same automaton, `mask` has
  /// Vocabulary::words() words. Fails when the grammar is too ambiguous here.
  Status fill(const Matcher& matcher, std::span<uint32_t> mask);

  /// Bytes of the cached masks.
  size_t cachedBytes() const;

private:
  struct Entry;
  using Entries = std::map<int32_t, std::unique_ptr<Entry>>; // by class
  class Walk;

  /// The entry of `level` with this key. Computes it if it is missing.
  Expected<Entry*> find(Entries& level, int32_t key,
                        const std::vector<int32_t>& states, FrameId bottom,
                        const Entry* above);
  Status fillStack(const Frames& frames, const Frame& top,
                   std::span<uint32_t> mask);
  /// Decides the undecided tokens of an entry by the rest of the stack,
  /// uncached.
  Status fillRest(const Frames& frames, FrameId rest,
                  std::vector<int32_t> states, const Entry& above,
                  std::span<uint32_t> mask);

  std::shared_ptr<const Automaton> machine;
  std::shared_ptr<const Vocabulary> tokens;
  StateClasses classes;
  mutable std::mutex mutex; // guards what follows
  Entries entries;
  size_t bytes = 0;
  int64_t steps = 0; // of the mask that is being filled
};

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_MASKTABLE_H
