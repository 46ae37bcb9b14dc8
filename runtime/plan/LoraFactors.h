// The shape check for LoRA adapters of a matrix.

#ifndef RECIPERUN_PLAN_LORAFACTORS_H
#define RECIPERUN_PLAN_LORAFACTORS_H

#include <cstdint>
#include <vector>

namespace reciperun::plan {

/// Whether B A has the elements of `matrix`, where A is [rank, in ...] and B
/// [out ..., rank], and each row of the matrix along its dimension 0 consists
/// of whole rows of B A. All sizes are positive. The element count of each of
/// the three fits 64 bits.
bool areLoraFactors(const std::vector<int64_t>& matrix,
                    const std::vector<int64_t>& a,
                    const std::vector<int64_t>& b);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_LORAFACTORS_H
