// A state whose rule can only return is never kept: a call that is the last of
// its rule pushes no frame, and a finished rule is left at once.
// Right-recursive rules therefore need no stack.

#include "runtime/grammar/Parses.h"

#include "runtime/grammar/Limits.h"

#include <algorithm>

namespace reciperun::grammar {
namespace {

/// Steps for one byte; a chain of calls takes one each.
constexpr int64_t maxByteSteps = 1'000'000;

} // namespace

FrameId Frames::push(Frame frame) {
  const uint64_t key =
      uint64_t(uint32_t(frame.state)) << 32 | uint32_t(frame.below);
  const auto [place, isNew] =
      ids.try_emplace(key, static_cast<FrameId>(frames.size()));
  if (isNew)
    frames.push_back(frame);
  return place->second;
}

void Frames::clear() {
  frames.clear();
  ids.clear();
}

Parses Reader::start() const {
  Parses parses;
  parses.isComplete = automaton.matchesEmpty();
  if (!automaton.isEnd(automaton.root()))
    parses.tops.push_back({automaton.root(), belowRoot});
  return parses;
}

Status Reader::read(const Parses& from, uint8_t byte, Parses& to) {
  to.tops.clear();
  to.isComplete = to.hasLeft = false;
  called.clear();
  limit = work + maxByteSteps;
  for (const Frame& top : from.tops)
    advance(top, byte, to);
  if (to.tops.size() > maxParses || work > limit)
    return tooManyParses();
  return {};
}

void Reader::advance(Frame top, uint8_t byte, Parses& to) {
  if (++work > limit || to.tops.size() > maxParses)
    return;
  for (const Edge& edge : automaton.edges(top.state))
    if (edge.low <= byte && byte <= edge.high)
      enter({edge.target, top.below}, to);
  for (const Call& call : automaton.calls(top.state)) {
    if (!automaton.mayBegin(call.rule, byte))
      continue;
    const FrameId below = automaton.isEnd(call.target)
                              ? top.below
                              : frames.push({call.target, top.below});
    const Frame first = {automaton.start(call.rule), below};
    work += int64_t(called.size()) / 8;
    if (std::find(called.begin(), called.end(), first) != called.end())
      continue;
    called.push_back(first);
    advance(first, byte, to);
  }
}

void Reader::enter(Frame top, Parses& to) {
  while (true) {
    ++work;
    if (!automaton.isEnd(top.state)) {
      work += int64_t(to.tops.size()) / 8;
      if (std::find(to.tops.begin(), to.tops.end(), top) != to.tops.end())
        return; // what it returns to is there as well
      to.tops.push_back(top);
    }
    if (!automaton.isFinal(top.state))
      return;
    if (top.below == belowRoot)
      to.isComplete = true;
    if (top.below == belowKnown)
      to.hasLeft = true;
    if (top.below < 0)
      return;
    top = frames[top.below];
  }
}

Status tooManyParses() {
  return Status::error("the grammar reads this text in more than " +
                       std::to_string(maxParses) +
                       " ways at once; write it with less ambiguity");
}

} // namespace reciperun::grammar
