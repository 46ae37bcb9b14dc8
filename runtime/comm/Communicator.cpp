// What every communicator can do by means of its collectives.

#include "runtime/comm/Communicator.h"

#include "runtime/comm/Reduce.h"

namespace reciperun::comm {

/// Of terms that the host can address, none of them left out.
Status Communicator::addTerms(int /*group*/, const Tensor& /*in*/,
                              const Tensor& terms, const Tensor& out) {
  reduceInRankOrder(terms.type, Reduction::sum, terms.as<std::byte>(),
                    out.bytes(), int(terms.elements() / out.elements()),
                    out.elements(), out.as<std::byte>());
  return Status::ok();
}

Status Communicator::exchangeRows(int group, const Tensor& in,
                                  const Tensor& /*counts*/, const Tensor& out,
                                  ShardExchange exchange) {
  return allToAll(group, in, out, exchange);
}

Expected<int64_t> Communicator::maximum(int64_t mine) {
  const int64_t shape[] = {1};
  Tensor value{&mine, plan::DType::i64, shape};
  RECIPERUN_TRY(host().allReduce(world, value, value, Reduction::max));
  return mine;
}

} // namespace reciperun::comm
