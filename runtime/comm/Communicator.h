// Collectives over the groups of a plan's mesh.
//
// Tensors are in the memory of the plan's device: host memory for CPU ranks,
// GPU memory for GPU ranks. A GPU's collectives run in stream order with its
// kernels and may still be running when a call returns. Use host() for tensors
// in host memory.
//
// A group is named by its index in `mesh.groups`, or is `world`, all ranks.
// Every rank of a group calls the same collectives in the same order. Sums are
// accumulated in rank order. bf16 is accumulated in f32 and rounded once, so
// that all ranks and all runs get the same bits. NCCL accumulates in an order
// of its own, which is the same in each run, and rounds bf16 more than once.
//
// Callers use the named functions (allReduce, beginSend ...). A communicator
// implements run, begin and move, which take a description (Collective,
// Message).

#ifndef RECIPERUN_COMM_COMMUNICATOR_H
#define RECIPERUN_COMM_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "runtime/comm/Blocks.h"
#include "runtime/comm/Watch.h"
#include "runtime/device/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reciperun::comm {

using device::Tensor;

enum class Reduction { sum, max, min, product };

/// A tensor to send to the next rank of a ring, and a buffer of the same size
/// to receive from the previous one.
struct Shift {
  Tensor out, in;
};

/// A tensor to send to a rank of a group, or to receive from it.
struct Transfer {
  int peer = 0; // the index in the group
  Tensor tensor;
};

/// The group of all ranks.
inline constexpr int world = -1;

/// A collective of a group. The members after `out` apply to some kinds only.
struct Collective {
  enum class Kind {
    allReduce,
    allGather,
    reduceScatter,
    allToAll,
    broadcast,
    reduce,
    transfers,
    shift
  };

  Kind kind;
  std::string_view op; // the plan's op, for messages; may be empty
  int group = world;
  Tensor in, out;
  Reduction reduction = Reduction::sum; // all-reduce, reduce-scatter, reduce
  int dim = 0;                          // all-gather, reduce-scatter
  ShardExchange exchange = {};          // all-to-all
  Tensor counts = {};                   // all-to-all of rows of experts
  std::span<const Shift> shifts = {};   // shift, which leaves in and out empty
  int root = 0;                         // broadcast, reduce: index in the group
  /// Transfers, which leave `in` and `out` empty.
  std::span<const Transfer> sends = {}, receives = {};
};

/// A message from one rank of the world to another.
struct Message {
  enum class Kind { send, receive };

  Kind kind;
  std::string_view op;             // the plan's op, for messages; may be empty
  int peer;                        // the other rank
  int link;                        // a link of the plan; -1 for move()
  std::span<const std::byte> sent; // send
  std::span<std::byte> received;   // receive
};

class Communicator {
public:
  virtual ~Communicator() = default;

  int rank() const { return ownRank; }
  int ranks() const { return allRanks; }

  /// The watch that ends the job when this rank waits too long for others. Null
  /// when there is no watch. It belongs to host().
  Watch* watch() const { return lookout; }

  /// Collectives of the same ranks on host memory. They are complete when they
  /// return.
  virtual Communicator& host() { return *this; }

  /// Sets the op of the plan that messages name for the next calls; may be
  /// empty. The name outlives those calls.
  void startsOp(std::string_view name) { op = name; }

  // ---- collectives in stream order with the device's work

  /// out = the reduction over the group of each element of `in`. Types f64,
  /// f32, bf16, i64 and i32; `in` and `out` have one shape and may be one
  /// buffer.
  Status allReduce(int group, const Tensor& in, const Tensor& out,
                   Reduction reduction);

  /// Concatenates the group's parts along dimension `dim`, in rank order. `in`
  /// may start where `out` does. It may also be the rank's own part of `out` if
  /// no dimension before `dim` exceeds 1.
  Status allGather(int group, const Tensor& in, const Tensor& out, int dim);

  /// out = this rank's part, along dimension `dim`, of the group's reduction of
  /// `in`. The buffers may alias as in allGather.
  Status reduceScatter(int group, const Tensor& in, const Tensor& out, int dim,
                       Reduction reduction = Reduction::sum);

  /// Splits `in` along dimension `split`, sends one part to each rank of the
  /// group in rank order, and concatenates the received parts along dimension
  /// `concat` of `out`. The buffers do not overlap.
  Status allToAll(int group, const Tensor& in, const Tensor& out,
                  ShardExchange exchange);

  /// All-to-all of the rows of experts [groups, rows, ...]. A block begins with
  /// its rows in use. Their number is the sum of the block's counts in `counts`
  /// i32 [groups, blocks, members]. The other rows need not be sent, and their
  /// contents in `out` are undefined.
  Status exchangeRows(int group, const Tensor& in, const Tensor& counts,
                      const Tensor& out, ShardExchange exchange);

  /// out = `in` of the group's rank `root`. `in` of the other ranks is not
  /// read. `in` and `out` have one shape and may be one buffer.
  Status broadcast(int group, const Tensor& in, const Tensor& out, int root);

  /// On the group's rank `root`, out = the reduction over the group of each
  /// element of `in`. On the other ranks `out` is undefined. Types and buffers
  /// are those of allReduce.
  Status reduce(int group, const Tensor& in, const Tensor& out,
                Reduction reduction, int root);

  /// Sends and receives tensors within the group, all at the same time. The
  /// sender and the receiver of a tensor list it with equal sizes, and two
  /// ranks list the tensors that they exchange in one order. A rank may send to
  /// itself. The buffers do not overlap.
  Status transfer(int group, std::span<const Transfer> sends,
                  std::span<const Transfer> receives);

  /// Moves bytes in host memory between two ranks of the world: one calls send,
  /// the other receive, with equal sizes.
  Status send(int to, std::span<const std::byte> bytes);
  Status receive(int from, std::span<std::byte> bytes);

  // ---- operations that overlap with the device's work, until finish()

  /// Begins to move bytes between two ranks of the world, which name the same
  /// link. Both ranks begin the messages of a link in the same order. Returns
  /// an id for finish(). The bytes must not change before finish().
  Expected<int> beginSend(int to, int link, std::span<const std::byte> bytes);
  Expected<int> beginReceive(int from, int link, std::span<std::byte> bytes);

  /// Begins an all-gather along dimension 0, or the first half of a
  /// reduce-scatter along dimension 0. Returns an id for finish().
  /// beginExchange writes all ranks' terms of this rank's part to `out`, one
  /// after the other in rank order, and may omit the rank's own term; addTerms
  /// sums them. The buffers must not change before finish() and do not overlap,
  /// except that an all-gather's `in` may be the rank's own part of `out`.
  Expected<int> beginAllGather(int group, const Tensor& in, const Tensor& out);
  Expected<int> beginExchange(int group, const Tensor& in, const Tensor& out);

  /// Begins to send a part of `in` to each rank of the group, in rank order,
  /// and to receive the parts of `out`. The parts are contiguous. The buffers
  /// do not overlap and must not change before finish() of the returned number.
  Expected<int> beginAllToAll(int group, const Tensor& in, const Tensor& out);

  /// Begins to send tensors to the next rank of the group (the last rank's next
  /// is the first) and to receive tensors of the same size from the previous
  /// one. The buffers do not overlap and must not change before finish() of the
  /// returned number.
  Expected<int> beginShift(int group, std::span<const Shift> shifts);

  virtual Status finish(int message) = 0;

  /// out = the sum, in rank order, of the terms that beginExchange of `in`
  /// received. `out` may be the rank's own part of `in`.
  virtual Status addTerms(int group, const Tensor& in, const Tensor& terms,
                          const Tensor& out);

  // ---- all ranks together

  /// Returns the failure of running collectives if one is known. Does not wait.
  virtual Status check() { return Status::ok(); }

  /// Every rank passes its own status. Every rank gets the failure of the
  /// lowest failing rank ("on rank N: ..." when N is not 0), or ok.
  virtual Status agree(const Status& mine) = 0;

  /// The maximum of a host integer over all ranks.
  Expected<int64_t> maximum(int64_t mine);

  /// Shares device memory with the ranks of the same host, which may then copy
  /// to it directly. All buffers of begin() lie in this memory. Returns a
  /// remark for the user on how the ranks are connected, usually empty.
  /// Collective.
  virtual Expected<std::string> share(std::byte* /*memory*/,
                                      int64_t /*bytes*/) {
    return std::string();
  }

  // ---- graph recording

  /// The device records its work from now on (Device::beginRecording),
  /// including calls to this communicator. An operation that begins during a
  /// recording must finish during the same one.
  virtual Status beginsRecording() { return Status::ok(); }
  /// Ends the recording and returns its index, from 0.
  virtual int endsRecording() { return 0; }
  /// The device has launched the recording of this index.
  virtual Status launched(int /*recording*/) { return Status::ok(); }

  // ---- what a communicator implements

  /// Runs a collective in stream order with the device's work. Any kind but a
  /// shift.
  virtual Status run(const Collective& collective) = 0;

  /// Begins a collective that overlaps with the device's work: an all-gather,
  /// an all-to-all, the exchange of a reduce-scatter, or a shift. Returns the
  /// number for finish().
  virtual Expected<int> begin(const Collective& collective) = 0;

  /// Moves bytes in host memory. The message has no link.
  virtual Status move(const Message& message) = 0;

  /// Begins to move bytes in device memory. Returns the number for finish().
  virtual Expected<int> begin(const Message& message) = 0;

protected:
  /// The watch, which may be null, outlives the object.
  Communicator(int rank, int ranks, Watch* watch)
      : ownRank(rank), allRanks(ranks), lookout(watch) {}

private:
  int ownRank;
  int allRanks;
  Watch* lookout;
  std::string_view op; // the plan's op of the current call
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_COMMUNICATOR_H
