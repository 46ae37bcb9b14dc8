// Damages a plan the way a plan is built: value by value.
//
// Bytes changed at random hardly ever leave JSON behind, and never a plan. This
// mutator parses the text, changes a few values of the document (numbers become
// neighbours, limits or other numbers of the plan; strings other strings; lists
// lose, double and swap elements; records change places) and writes it again.

#ifndef RECIPEC_TEST_FUZZ_PLANMUTATOR_H
#define RECIPEC_TEST_FUZZ_PLANMUTATOR_H

#include <cstdint>
#include <string>
#include <string_view>

namespace reciperun::fuzz {

/// The plan with one to four values changed; the same seed gives the same
/// changes. Empty when `text` is not JSON.
std::string mutatePlan(std::string_view text, uint32_t seed);

/// The plan with one value, list or record copied from the same location in
/// `other`. Empty when either is not JSON.
std::string crossPlans(std::string_view text, std::string_view other,
                       uint32_t seed);

} // namespace reciperun::fuzz

#endif // RECIPEC_TEST_FUZZ_PLANMUTATOR_H
