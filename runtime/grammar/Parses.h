// The possible parses of a text by an automaton: a set of stacks that advances
// byte by byte.
//
// A stack is the state on top and the frames below. Frames are interned: equal
// stacks have the same id, so that equal parses are merged.

#ifndef RECIPERUN_GRAMMAR_PARSES_H
#define RECIPERUN_GRAMMAR_PARSES_H

#include "runtime/grammar/Automaton.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace reciperun::grammar {

/// The index of a frame in `Frames`, or what lies below the last frame.
using FrameId = int32_t;
/// Below the last frame of the root. Returning here ends the text.
constexpr FrameId belowRoot = -1;
/// Below the last known frame, for a mask that several stacks share.
constexpr FrameId belowKnown = -2;

/// A state, and the frame to which its rule returns.
struct Frame {
  int32_t state = 0;
  FrameId below = belowRoot;
  bool operator==(const Frame&) const = default;
};

class Frames {
public:
  FrameId push(Frame frame);
  const Frame& operator[](FrameId id) const { return frames[size_t(id)]; }
  size_t size() const { return frames.size(); }
  void clear();

private:
  std::vector<Frame> frames;
  std::unordered_map<uint64_t, FrameId> ids;
};

/// All ways to read a text so far.
struct Parses {
  std::vector<Frame> tops; // each has edges or calls
  bool isComplete = false; // the text may end here
  bool hasLeft = false;    // a way returned below the known frames

  bool canGoOn() const { return !tops.empty(); }
};

/// Reads bytes and counts the work.
class Reader {
public:
  Reader(const Automaton& automaton, Frames& frames)
      : automaton(automaton), frames(frames) {}

  /// The ways that exist before the first byte.
  Parses start() const;
  /// Replaces `to` by the ways of `from` that can read the byte. Fails when
  /// there are more than maxParses, or when reading becomes too much work.
  Status read(const Parses& from, uint8_t byte, Parses& to);
  /// Steps of all calls of `read`.
  int64_t steps() const { return work; }

private:
  void advance(Frame top, uint8_t byte, Parses& to);
  void enter(Frame top, Parses& to);

  const Automaton& automaton;
  Frames& frames;
  std::vector<Frame> called; // first states that `read` has expanded
  int64_t work = 0;
  int64_t limit = 0; // of `work`, for one byte
};

/// "the grammar reads a text in more than N ways at once ...".
Status tooManyParses();

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_PARSES_H
