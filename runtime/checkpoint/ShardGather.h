// Whole tensors on rank 0, out of the blocks that the ranks hold.

#ifndef RECIPERUN_CHECKPOINT_SHARDGATHER_H
#define RECIPERUN_CHECKPOINT_SHARDGATHER_H

#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/checkpoint/ShardLayout.h"
#include "runtime/comm/Communicator.h"

#include <functional>
#include <vector>

namespace reciperun::checkpoint {

/// Brings parameters to rank 0 in bounded pieces: rows of dimension 0, each
/// piece from every rank that holds a part of it, put in their places. All
/// ranks call the same methods in the same order.
class ShardGather {
public:
  /// Bytes that a piece aims at; a single row may exceed it.
  static constexpr int64_t pieceBytes = int64_t(1) << 20;

  /// The arguments outlive the object.
  ShardGather(const plan::Plan& plan, const ParameterAccess& access,
              comm::Communicator& communicator)
      : plan(plan), access(access), communicator(communicator) {}

  /// Takes the next bytes of the whole tensor; called on rank 0.
  using Sink = std::function<Status(std::span<std::byte> piece)>;

  /// Streams a parameter's content into `sink`. The failure of a sink does not
  /// stop the transfer, since the senders know nothing of it; it is the result
  /// on rank 0. A failure of the communicator ends it.
  Status stream(int parameter, Content content, const Sink& sink);

  /// The whole content in memory, on rank 0; empty elsewhere.
  Expected<std::vector<std::byte>> whole(int parameter, Content content);

private:
  struct Rows {
    int64_t begin = 0;
    int64_t end = 0;
  };

  /// What one rank has of a parameter: a run of its block's elements.
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
