// Gathers whole tensors on rank 0 from the blocks of the ranks.

#ifndef RECIPERUN_CHECKPOINT_SHARDGATHER_H
#define RECIPERUN_CHECKPOINT_SHARDGATHER_H

#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/checkpoint/ShardLayout.h"
#include "runtime/comm/Communicator.h"

#include <functional>
#include <vector>

namespace reciperun::checkpoint {

/// Gathers parameters on rank 0 in pieces of bounded size. A piece is rows of
/// dimension 0, assembled from every rank that has a part of it. All ranks must
/// call the same methods in the same order.
class ShardGather {
public:
  /// The target size of a piece; a single row may exceed it.
  static constexpr int64_t pieceBytes = int64_t(1) << 20;

  /// The arguments must outlive the object.
  ShardGather(const plan::Plan& plan, const ParameterAccess& access,
              comm::Communicator& communicator)
      : plan(plan), access(access), communicator(communicator) {}

  /// Receives the next bytes of the whole tensor; called on rank 0.
  using Sink = std::function<Status(std::span<std::byte> piece)>;

  /// Streams a parameter's content into `sink`. A failure of the sink does not
  /// stop the transfer, since the senders do not know of it; it is returned on
  /// rank 0. A failure of the communicator stops the transfer.
  Status stream(int parameter, Content content, const Sink& sink);

  /// The whole content in memory, on rank 0; empty on other ranks.
  Expected<std::vector<std::byte>> whole(int parameter, Content content);

private:
  struct Rows {
    int64_t begin = 0;
    int64_t end = 0;
  };

  /// The shard of one rank: a run of elements of its block.
  struct Share {
    int owner = 0;
    int64_t first = 0;
    int64_t count = 0;
  };

  std::vector<Share> shares(int parameter, Content content) const;
  Status takeShare(int parameter, Content content, Rows rows,
                   const Share& share);
  int64_t elementBytes(int number, Content content) const;

  const plan::Plan& plan;
  const ParameterAccess& access;
  comm::Communicator& communicator;
  std::vector<std::byte> piece; // rows of the whole tensor, on rank 0
  std::vector<std::byte> part;  // one owner's part of them
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SHARDGATHER_H
