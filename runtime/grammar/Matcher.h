// The progress of a text through a grammar.

#ifndef RECIPERUN_GRAMMAR_MATCHER_H
#define RECIPERUN_GRAMMAR_MATCHER_H

#include "runtime/grammar/Parses.h"

#include <memory>
#include <string_view>

namespace reciperun::grammar {

/// Not thread-safe.
class Matcher {
public:
  explicit Matcher(std::shared_ptr<const Automaton> automaton);

  /// Reads more of the text. Fails, without reading anything, when the text
  /// cannot continue with these bytes.
  Status acceptBytes(std::string_view bytes);
  /// Whether the text may end here.
  bool isComplete() const { return parses.isComplete; }
  /// Whether the text may continue.
  bool canGoOn() const { return parses.canGoOn(); }

  const Parses& current() const { return parses; }
  const Frames& stack() const { return frames; }

private:
  void dropUnusedFrames();

  std::shared_ptr<const Automaton> automaton;
  Frames frames;
  Parses parses;
  size_t usedFrames = 0; // after the last clean-up
};

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_MATCHER_H
