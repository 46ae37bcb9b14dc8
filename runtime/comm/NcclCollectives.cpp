// See NcclCollectives.h.

#include "runtime/comm/NcclCollectives.h"

#include "runtime/comm/CudaShards.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <cassert>

namespace reciperun::comm {
namespace {

/// The largest number of rows that are not packed: NCCL runs one collective per
/// row, all in one launch.
constexpr int64_t fewRows = 32;

ncclRedOp_t operatorOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::sum:
    return ncclSum;
  case Reduction::max:
    return ncclMax;
  case Reduction::min:
    return ncclMin;
  case Reduction::product:
    return ncclProd;
  }
  return ncclSum;
}

} // namespace

NcclCollectives::~NcclCollectives() {
  cudaFree(sendBuffer);
  cudaFree(receiveBuffer);
}

Status NcclCollectives::takeBuffers() {
  RECIPERUN_CUDA_TRY(cudaMalloc, &sendBuffer, size_t(sizes::packingBytes));
  RECIPERUN_CUDA_TRY(cudaMalloc, &receiveBuffer, size_t(sizes::packingBytes));
  return Status::ok();
}

Blocks NcclCollectives::partsOf(const Tensor& part, int dim,
                                const NcclGroup& commGroup) {
  return Blocks::of(part.shape, dim, commGroup.ranks,
                    plan::byteSize(part.type));
}

/// The largest number of elements of each part that the buffers hold at a time,
/// a multiple that keeps accesses aligned.
int64_t NcclCollectives::pieceElements(const NcclGroup& commGroup,
                                       int64_t elementBytes) {
  constexpr int64_t aligned = 64;
  return sizes::packingBytes / elementBytes / commGroup.ranks / aligned *
         aligned;
}

/// Runs `body`, which enqueues a collective of a group, and tells the watch.
template <class Body>
Status NcclCollectives::collect(const char* what, int group, const Body& body) {
  Expected<const NcclGroup*> found = findGroup(connections.groups, group);
  RECIPERUN_TRY(found);
  const Watch::Wait wait = progress.waitFor(what, **found);
  RECIPERUN_TRY(body(**found));
  return progress.note(what, **found);
}

Status NcclCollectives::run(const Collective& collective) {
  progress.startsOp(collective.op);
  switch (collective.kind) {
  case Collective::Kind::allReduce:
    return allReduce(collective);
  case Collective::Kind::allGather:
    return allGather(collective);
  case Collective::Kind::reduceScatter:
    return reduceScatter(collective);
  case Collective::Kind::allToAll:
    return allToAll(collective);
  case Collective::Kind::broadcast:
    return broadcast(collective);
  case Collective::Kind::reduce:
    return reduce(collective);
  case Collective::Kind::transfers:
    return transfer(collective);
  case Collective::Kind::shift:
    break;
  }
  assert(false && "a shift begins and ends apart");
  return Status::error("unknown collective");
}

Status NcclCollectives::allReduce(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  return collect("all-reduce", collective.group,
                 [&](const NcclGroup& commGroup) -> Status {
                   if (commGroup.ranks == 1)
                     return copyOwn(commGroup, in.data, out.data, in.bytes());
                   RECIPERUN_NCCL_TRY(nccl, commGroup, AllReduce, in.data,
                                      out.data, size_t(in.elements()),
                                      ncclType(in.type),
                                      operatorOf(collective.reduction),
                                      commGroup.comm, commGroup.stream);
                   return Status::ok();
                 });
}

// ---- all-gather

Status NcclCollectives::allGather(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  if (const NcclGroup* commGroup = barriers.find(collective.group, {&in, &out});
      commGroup && partsOf(in, collective.dim, *commGroup).contiguous())
    return barriers.gather(*commGroup, in, out);
  return collect(
      "all-gather", collective.group,
      [&](const NcclGroup& commGroup) -> Status {
        assert(in.bytes() * commGroup.ranks == out.bytes() &&
               in.type == out.type);
        if (commGroup.ranks == 1)
          return copyOwn(commGroup, in.data, out.data, in.bytes());
        const Blocks blocks = partsOf(in, collective.dim, commGroup);
        const bool isOverlapping = overlap(in, out);
        if (blocks.contiguous()) {
          std::byte* own = out.as<std::byte>() + commGroup.rank * in.bytes();
          if (isOverlapping)
            RECIPERUN_TRY(copyOwn(commGroup, in.data, own, in.bytes()));
          RECIPERUN_NCCL_TRY(nccl, commGroup, AllGather,
                             isOverlapping ? own : in.data, out.data,
                             size_t(in.elements()), ncclType(in.type),
                             commGroup.comm, commGroup.stream);
          return Status::ok();
        }
        return blocks.rows <= fewRows && !isOverlapping
                   ? gatherRows(commGroup, blocks, in, out)
                   : gatherPieces(commGroup, blocks, in, out);
      });
}

Status NcclCollectives::gatherRows(const NcclGroup& commGroup,
                                   const Blocks& blocks, const Tensor& in,
                                   const Tensor& out) {
  const int64_t bytes = blocks.block * blocks.elementBytes;
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupStart);
  for (int64_t row = 0; row < blocks.rows; ++row)
    RECIPERUN_NCCL_TRY(nccl, commGroup, AllGather,
                       in.as<std::byte>() + row * bytes,
                       out.as<std::byte>() + row * commGroup.ranks * bytes,
                       size_t(blocks.block), ncclType(in.type), commGroup.comm,
                       commGroup.stream);
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupEnd);
  return Status::ok();
}

Status NcclCollectives::gatherPieces(const NcclGroup& commGroup,
                                     const Blocks& blocks, const Tensor& in,
                                     const Tensor& out) {
  const int64_t most = pieceElements(commGroup, blocks.elementBytes);
  for (int64_t end = blocks.shardElements(); end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - most);
    RECIPERUN_NCCL_TRY(nccl, commGroup, AllGather,
                       in.as<std::byte>() + begin * blocks.elementBytes,
                       receiveBuffer, size_t(end - begin), ncclType(in.type),
                       commGroup.comm, commGroup.stream);
    RECIPERUN_TRY(unpackShards(blocks, receiveBuffer, begin, end,
                               out.as<std::byte>(), commGroup.stream));
    end = begin;
  }
  return Status::ok();
}

// ---- reduce-scatter

Status NcclCollectives::reduceScatter(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  if (const NcclGroup* commGroup = barriers.find(collective.group, {&in, &out});
      commGroup && collective.reduction == Reduction::sum &&
      partsOf(out, collective.dim, *commGroup).contiguous())
    return barriers.scatter(*commGroup, in, out);
  return collect("reduce-scatter", collective.group,
                 [&](const NcclGroup& commGroup) -> Status {
                   assert(out.bytes() * commGroup.ranks == in.bytes() &&
                          in.type == out.type);
                   if (commGroup.ranks == 1)
                     return copyOwn(commGroup, in.data, out.data, in.bytes());
                   const Blocks blocks =
                       partsOf(out, collective.dim, commGroup);
                   if (blocks.contiguous())
                     return scatterContiguous(commGroup, collective);
                   return blocks.rows <= fewRows && !overlap(in, out)
                              ? scatterRows(commGroup, blocks, collective)
                              : scatterPieces(commGroup, blocks, collective);
                 });
}

/// The result may overwrite this rank's own part of the input, but no other
/// part.
Status NcclCollectives::scatterContiguous(const NcclGroup& commGroup,
                                          const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  std::byte* own = in.as<std::byte>() + commGroup.rank * out.bytes();
  std::byte* target = overlap(in, out) ? own : out.as<std::byte>();
  RECIPERUN_NCCL_TRY(nccl, commGroup, ReduceScatter, in.data, target,
                     size_t(out.elements()), ncclType(in.type),
                     operatorOf(collective.reduction), commGroup.comm,
                     commGroup.stream);
  return copyOwn(commGroup, target, out.data, out.bytes());
}

Status NcclCollectives::scatterRows(const NcclGroup& commGroup,
                                    const Blocks& blocks,
                                    const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  const int64_t bytes = blocks.block * blocks.elementBytes;
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupStart);
  for (int64_t row = 0; row < blocks.rows; ++row)
    RECIPERUN_NCCL_TRY(nccl, commGroup, ReduceScatter,
                       in.as<std::byte>() + row * commGroup.ranks * bytes,
                       out.as<std::byte>() + row * bytes, size_t(blocks.block),
                       ncclType(in.type), operatorOf(collective.reduction),
                       commGroup.comm, commGroup.stream);
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupEnd);
  return Status::ok();
}

Status NcclCollectives::scatterPieces(const NcclGroup& commGroup,
                                      const Blocks& blocks,
                                      const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  const int64_t most = pieceElements(commGroup, blocks.elementBytes);
  const int64_t elements = blocks.shardElements();
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t end = std::min(begin + most, elements);
    RECIPERUN_TRY(packShards(blocks, in.as<std::byte>(), begin, end, sendBuffer,
                             commGroup.stream));
    RECIPERUN_NCCL_TRY(nccl, commGroup, ReduceScatter, sendBuffer,
                       out.as<std::byte>() + begin * blocks.elementBytes,
                       size_t(end - begin), ncclType(in.type),
                       operatorOf(collective.reduction), commGroup.comm,
                       commGroup.stream);
  }
  return Status::ok();
}

// ---- all-to-all

Status NcclCollectives::allToAll(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  if (const NcclGroup* commGroup = barriers.find(collective.group, {&out});
      commGroup &&
      NcclPeerBarriers::areRuns(in, collective.exchange, *commGroup))
    return barriers.exchange(*commGroup, in, collective.counts, out);
  return collect(
      "all-to-all", collective.group,
      [&](const NcclGroup& commGroup) -> Status {
        assert(in.bytes() == out.bytes() && in.type == out.type);
        if (commGroup.ranks == 1)
          return copyOwn(commGroup, in.data, out.data, in.bytes());
        const int64_t size = plan::byteSize(in.type);
        const ShardExchange::Ends ends =
            collective.exchange.endsOf(in.shape, commGroup.ranks, size);
        if (ends.contiguous())
          return exchangeParts(nccl, commGroup, in.as<std::byte>(),
                               out.as<std::byte>(),
                               in.bytes() / commGroup.ranks);
        const int64_t most = pieceElements(commGroup, size);
        const int64_t elements = ends.from.shardElements();
        for (int64_t begin = 0; begin < elements; begin += most) {
          const int64_t end = std::min(begin + most, elements);
          RECIPERUN_TRY(packShards(ends.from, in.as<std::byte>(), begin, end,
                                   sendBuffer, commGroup.stream));
          RECIPERUN_TRY(exchangeParts(nccl, commGroup, sendBuffer,
                                      receiveBuffer, (end - begin) * size));
          RECIPERUN_TRY(unpackShards(ends.to, receiveBuffer, begin, end,
                                     out.as<std::byte>(), commGroup.stream));
        }
        return Status::ok();
      });
}

// ---- collectives with a root, and transfers

Status NcclCollectives::broadcast(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  return collect(
      "broadcast", collective.group, [&](const NcclGroup& commGroup) -> Status {
        if (commGroup.ranks == 1)
          return copyOwn(commGroup, in.data, out.data, in.bytes());
        RECIPERUN_NCCL_TRY(nccl, commGroup, Broadcast, in.data, out.data,
                           size_t(in.elements()), ncclType(in.type),
                           collective.root, commGroup.comm, commGroup.stream);
        return Status::ok();
      });
}

Status NcclCollectives::reduce(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  return collect(
      "reduce", collective.group, [&](const NcclGroup& commGroup) -> Status {
        if (commGroup.ranks == 1)
          return copyOwn(commGroup, in.data, out.data, in.bytes());
        RECIPERUN_NCCL_TRY(nccl, commGroup, Reduce, in.data, out.data,
                           size_t(in.elements()), ncclType(in.type),
                           operatorOf(collective.reduction), collective.root,
                           commGroup.comm, commGroup.stream);
        return Status::ok();
      });
}

Status NcclCollectives::transfer(const Collective& collective) {
  return collect(
      "transfers", collective.group, [&](const NcclGroup& commGroup) -> Status {
        if (commGroup.ranks == 1) {
          assert(collective.sends.size() == collective.receives.size());
          for (size_t i = 0; i < collective.sends.size(); ++i) {
            const Tensor& sent = collective.sends[i].tensor;
            RECIPERUN_TRY(copyOwn(commGroup, sent.data,
                                  collective.receives[i].tensor.data,
                                  sent.bytes()));
          }
          return Status::ok();
        }
        RECIPERUN_NCCL_TRY(nccl, commGroup, GroupStart);
        for (const auto& [peer, tensor] : collective.sends)
          RECIPERUN_NCCL_TRY(nccl, commGroup, Send, tensor.data,
                             size_t(tensor.bytes()), ncclInt8, peer,
                             commGroup.comm, commGroup.stream);
        for (const auto& [peer, tensor] : collective.receives)
          RECIPERUN_NCCL_TRY(nccl, commGroup, Recv, tensor.data,
                             size_t(tensor.bytes()), ncclInt8, peer,
                             commGroup.comm, commGroup.stream);
        RECIPERUN_NCCL_TRY(nccl, commGroup, GroupEnd);
        return Status::ok();
      });
}

} // namespace reciperun::comm
