// Classes of states that no token can tell apart, so that they share a mask.
//
// The states of a repetition with a count, such as those of a text of at most
// 10,000 characters, differ only near its end.

#ifndef RECIPERUN_GRAMMAR_STATECLASSES_H
#define RECIPERUN_GRAMMAR_STATECLASSES_H

#include "runtime/grammar/Automaton.h"

#include <cstdint>
#include <vector>

namespace reciperun::grammar {

struct StateClasses {
  std::vector<int32_t> classOf;        // by state
  std::vector<int32_t> representative; // a state of each class
};

/// Classes of states that behave alike for the next `bytes` bytes.
StateClasses classifyStates(const Automaton& automaton, size_t bytes);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_STATECLASSES_H
