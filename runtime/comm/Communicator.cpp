// What every communicator can do by means of its collectives.

#include "runtime/comm/Communicator.h"

namespace reciperun::comm {

Expected<int64_t> Communicator::maximum(int64_t mine) {
  const int64_t shape[] = {1};
  Tensor value{&mine, plan::DType::i64, shape};
  RECIPERUN_TRY(allReduce(world, value, value, Reduction::max));
  return mine;
}

} // namespace reciperun::comm
