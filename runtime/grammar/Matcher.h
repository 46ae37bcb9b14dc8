// How far a text has been read by a grammar.

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

  /// Reads more of the text. Fails, and has then read nothing, when the text
  /// cannot go on like that.
  Status acceptBytes(std::string_view bytes);
  /// Whether the text may end here.
  bool isComplete() const { return parses.isComplete; }
  /// Whether the text may go on.
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
