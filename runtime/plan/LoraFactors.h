// Which shapes make a LoRA adapter of a matrix.

#ifndef RECIPERUN_PLAN_LORAFACTORS_H
#define RECIPERUN_PLAN_LORAFACTORS_H

#include <cstdint>
#include <vector>

namespace reciperun::plan {

/// Whether B A has the elements of `matrix`, where A is [rank, in ...] and B
/// [out ..., rank], and each row of the matrix along its dimension 0 is a
/// number of rows of the product. All sizes are positive; their products fit 64
/// bits for each of the three.
bool areLoraFactors(const std::vector<int64_t>& matrix,
                    const std::vector<int64_t>& a,
                    const std::vector<int64_t>& b);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_LORAFACTORS_H
