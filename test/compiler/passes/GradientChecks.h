// Checks of the backward of a Program: it computes the derivative of its loss,
// and every layout computes the same as one rank. An interpreter of the ops
// computes both, on all ranks and in double precision.

#ifndef RECIPEC_TEST_PASSES_GRADIENTCHECKS_H
#define RECIPEC_TEST_PASSES_GRADIENTCHECKS_H

#include "compiler/ir/Ir.h"
#include "test/compiler/passes/Interpreter.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <cstdint>
#include <functional>
#include <span>

namespace recipec::test {

/// Builds a model for the given settings.
using Model = std::function<recipe::Recipe(RecipeWriter)>;

struct Degrees {
  int64_t dp, tp;
  bool sequence;
  int64_t ep = 1, etp = 1;
};
inline constexpr Degrees oneRank = {1, 1, false};
inline constexpr Degrees layouts[] = {{2, 1, false}, {1, 2, false},
                                      {1, 2, true},  {2, 2, true},
                                      {1, 4, true},  {2, 4, false}};
inline constexpr Degrees expertLayouts[] = {
    {2, 1, false},       {1, 2, false},       {1, 2, true},
    {2, 1, false, 2, 1}, {2, 1, false, 1, 2}, {1, 2, false, 2, 1},
    {1, 2, true, 1, 2},  {2, 2, true, 2, 2},  {2, 2, false, 2, 1},
    {2, 2, false, 4, 1}, {2, 2, true, 1, 4},  {1, 4, true, 2, 2},
    {4, 1, false, 2, 1}, {2, 4, true, 2, 2}};

/// The Program of a model with the functions `forward`, `backward` and
/// `evaluate`.
ir::Module compile(const Model& model, Degrees degrees);

/// Every layout has the loss and the gradients of one rank, up to the summation
/// order in double precision.
void expectLayoutsAgree(const Model& model,
                        std::span<const Degrees> layouts = layouts);

/// The gradients of one rank equal central differences of the loss. The error
/// of the differences is of the order of step^2 and of 1e-16 / step.
void expectDifferences(const Model& model);

} // namespace recipec::test

#endif // RECIPEC_TEST_PASSES_GRADIENTCHECKS_H
