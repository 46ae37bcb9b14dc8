// The pushdown automaton of a grammar: the machines of all rules in one table.
//
// Reading a byte follows an edge, or a call: the state to return to goes onto
// the stack, and the called rule reads the byte. A final state may return.
// Called rules never match the empty text, no rule calls itself before it has
// read a byte, and every state can reach an end.

#ifndef RECIPERUN_GRAMMAR_AUTOMATON_H
#define RECIPERUN_GRAMMAR_AUTOMATON_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Machine.h"

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::grammar {

class Automaton {
public:
  /// Compiles the rules. Fails when nothing matches the root, when a rule is
  /// left-recursive, and at the limits.
  static Expected<Automaton> compile(Rules rules);

  size_t size() const { return states.size(); }
  /// The first state of the root.
  int32_t root() const { return starts[size_t(rootRule)]; }
  /// Whether the empty text matches.
  bool matchesEmpty() const { return isRootNullable; }

  std::span<const Edge> edges(int32_t state) const {
    const State& at = states[size_t(state)];
    return {allEdges.data() + at.firstEdge, size_t(at.edges)};
  }
  std::span<const Call> calls(int32_t state) const {
    const State& at = states[size_t(state)];
    return {allCalls.data() + at.firstCall, size_t(at.calls)};
  }
  bool isFinal(int32_t state) const { return states[size_t(state)].isFinal; }
  /// Whether a state has neither edges nor calls, so that its rule can only
  /// return.
  bool isEnd(int32_t state) const {
    return states[size_t(state)].edges + states[size_t(state)].calls == 0;
  }
  int32_t start(RuleId rule) const { return starts[size_t(rule)]; }
  /// Whether a text of the rule may begin with the byte.
  bool mayBegin(RuleId rule, uint8_t byte) const {
    return firstBytes[size_t(rule)][byte];
  }

private:
  struct State {
    int32_t firstEdge = 0, edges = 0;
    int32_t firstCall = 0, calls = 0;
    bool isFinal = false;
  };
  class Linker;

  std::vector<State> states;
  std::vector<Edge> allEdges;
  std::vector<Call> allCalls;
  std::vector<int32_t> starts;              // by rule; -1: not called
  std::vector<std::bitset<256>> firstBytes; // by rule
  RuleId rootRule = 0;
  bool isRootNullable = false;
};

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_AUTOMATON_H
