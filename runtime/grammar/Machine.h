// The automaton of one rule: states with edges on bytes and calls of other
// rules. State 0 is the first.

#ifndef RECIPERUN_GRAMMAR_MACHINE_H
#define RECIPERUN_GRAMMAR_MACHINE_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Expression.h"

#include <cstdint>
#include <vector>

namespace reciperun::grammar {

/// Reads one byte of a range.
struct Edge {
  uint8_t low = 0;
  uint8_t high = 0;
  int32_t target = 0;
  bool operator==(const Edge&) const = default;
};

/// Reads a non-empty text of a rule.
struct Call {
  RuleId rule = 0;
  int32_t target = 0;
  bool operator==(const Call&) const = default;
};

struct Machine {
  struct State {
    std::vector<Edge> edges; // sorted; disjoint where deterministic
    std::vector<Call> calls; // sorted, each rule once where deterministic
    bool isFinal = false;
  };
  std::vector<State> states;
  bool isDeterministic = true;
};

/// An automaton in the making, with edges that read nothing.
struct EmptyEdgeMachine {
  struct State {
    std::vector<Edge> edges;
    std::vector<Call> calls;
    std::vector<int32_t> empty;
  };
  std::vector<State> states;
  int32_t start = 0;
  int32_t end = 0; // the only final state
};

/// Makes a machine deterministic by the subset construction, which treats calls
/// as symbols. A machine that would grow too much keeps several edges for a
/// byte and loses only its empty edges. Fails when even that is too large.
Expected<Machine> determinize(const EmptyEdgeMachine& machine);

/// The machine of the texts that both accept, or, with `isDifference`, that the
/// first accepts and the second does not. Fails when either calls rules or is
/// not deterministic, or when the result is too large.
Expected<Machine> intersect(const Machine& first, const Machine& second,
                            bool isDifference = false);

/// Whether a machine without calls accepts the whole text.
bool accepts(const Machine& machine, std::string_view text);
/// Whether a machine without calls accepts any text.
bool acceptsAny(const Machine& machine);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_MACHINE_H
